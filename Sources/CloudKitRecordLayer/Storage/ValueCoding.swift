import OrderedStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A stored value that does not read as what its key promises: the store was damaged or written by a later version.
package struct DamagedValue: Error, Hashable, Sendable {
    /// The kind of the value.
    package let subspace: Subspace

    /// Creates the error for a value of a kind.
    package init(_ subspace: Subspace) { self.subspace = subspace }
}

/// Builds a stored value: little-endian numbers, texts and byte strings with their length in front.
package struct ValueWriter: Sendable {
    /// The value so far.
    package private(set) var bytes: Bytes

    /// Creates an empty value; `capacity` is its expected size in bytes.
    package init(capacity: Int = 64) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Appends a byte.
    package mutating func add(byte: UInt8) { bytes.append(byte) }

    /// Appends a number in little-endian order.
    package mutating func add<Number: FixedWidthInteger & Sendable>(_ number: Number) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// At most 65534 bytes of UTF-8; names are far shorter.
    package mutating func add(_ text: String?) {
        guard let utf8 = text?.utf8.prefix(Int(UInt16.max) - 1) else { return add(UInt16.max) }
        let isContiguous: Void? = utf8.withContiguousStorageIfAvailable { append(counted: $0) }
        if isContiguous == nil { append(counted: utf8) }
    }

    private mutating func append(counted text: some Collection<UInt8>) {
        add(UInt16(text.count))
        bytes.append(contentsOf: text)
    }

    /// Appends a byte string with its length in front.
    package mutating func add(_ string: some Collection<UInt8>) {
        add(UInt32(string.count))
        bytes.append(contentsOf: string)
    }

    /// Appends bytes without their length.
    package mutating func append(_ raw: some Sequence<UInt8>) { bytes.append(contentsOf: raw) }
}

/// Reads a stored value back; any read beyond its end is `DamagedValue`.
package struct ValueReader: Sendable {
    /// The stored value.
    package let bytes: Bytes
    /// The offset of the next read.
    package private(set) var position: Int
    private let subspace: Subspace

    /// Creates a reader of a value that is stored in `subspace`.
    package init(_ bytes: Bytes, of subspace: Subspace, from position: Int = 0) {
        self.bytes = bytes
        self.subspace = subspace
        self.position = position
    }

    /// Reads a byte.
    package mutating func byte() throws -> UInt8 {
        guard position < bytes.count else { throw DamagedValue(subspace) }
        defer { position += 1 }
        return bytes[position]
    }

    /// Reads a number in little-endian order.
    package mutating func number<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) throws -> Number {
        let size = MemoryLayout<Number>.size
        guard position + size <= bytes.count else { throw DamagedValue(subspace) }
        defer { position += size }
        return bytes.withUnsafeBytes {
            Number(littleEndian: $0.loadUnaligned(fromByteOffset: position, as: Number.self))
        }
    }

    /// Reads a text.
    ///
    /// - Parameter similar: A text that is most likely the same: its string is used then.
    package mutating func text(_ similar: String? = nil) throws -> String {
        guard let text = try optionalText(similar) else { throw DamagedValue(subspace) }
        return text
    }

    /// Reads a text that may be nil.
    ///
    /// - Parameter similar: A text that is most likely the same: its string is used then.
    package mutating func optionalText(_ similar: String? = nil) throws -> String? {
        let length = try number(UInt16.self)
        guard length != UInt16.max else { return nil }
        let text = try slice(Int(length))
        if let similar, similar.utf8.count == text.count, Self.areEqual(similar, text) { return similar }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads a byte string.
    package mutating func string() throws -> Bytes {
        Bytes(try slice(Int(try number(UInt32.self))))
    }

    /// The next `length` bytes, in place.
    package mutating func slice(_ length: Int) throws -> ArraySlice<UInt8> {
        guard position + length <= bytes.count else { throw DamagedValue(subspace) }
        defer { position += length }
        return bytes[position..<position + length]
    }

    /// Compares a text with bytes of the same number, all at once.
    private static func areEqual(_ text: String, _ bytes: ArraySlice<UInt8>) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { text in
            bytes.withUnsafeBytes { bytes in
                guard let text = text.baseAddress, let start = bytes.baseAddress else { return true }
                return memcmp(text, start, bytes.count) == 0
            }
        } ?? text.utf8.elementsEqual(bytes)
    }

    /// Skips bytes.
    package mutating func skip(_ length: Int) throws {
        guard position + length <= bytes.count else { throw DamagedValue(subspace) }
        position += length
    }

    /// Whether the value was read as a whole.
    package var isAtEnd: Bool { position == bytes.count }
}
