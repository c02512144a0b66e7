/// Bytes as the log's file has them: numbers of variable length, texts with their length before them.
package struct EntryWriter {
    /// What was written.
    package private(set) var bytes: [UInt8] = []

    /// Creates an empty writer.
    package init() {}

    /// Appends a byte.
    package mutating func write(byte: UInt8) { bytes.append(byte) }

    /// Appends a number, seven bits a byte; a negative one as zero.
    package mutating func write(_ number: Int) {
        if number >= 0, number < 0x80 { return bytes.append(UInt8(truncatingIfNeeded: number)) }
        var rest = UInt64(max(number, 0))
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Appends eight bytes, the lowest first.
    package mutating func write(_ number: UInt64) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// Appends a text and its length.
    package mutating func write(_ text: String) {
        let isWritten: Void? = text.utf8.withContiguousStorageIfAvailable { utf8 in
            write(utf8.count)
            bytes.append(contentsOf: utf8)
        }
        guard isWritten == nil else { return }
        write(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    /// Appends a text and its length, or nothing for none.
    package mutating func write(ifPresent text: String?) {
        if let text { write(text) }
    }

    /// Makes room for so many bytes.
    package mutating func reserve(_ count: Int) { bytes.reserveCapacity(bytes.count + count) }
}

/// Reads what a `EntryWriter` has written; bytes that are not of that form are an error and nothing else.
package struct EntryReader {
    private let bytes: [UInt8]
    private var position = 0

    /// The error of bytes of another form.
    package struct Malformed: Error, Hashable, Sendable {
        /// Creates the error.
        package init() {}
    }

    /// Creates a reader.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// A Boolean value that indicates whether everything was read.
    package var isAtEnd: Bool { position == bytes.count }

    /// Reads a byte.
    package mutating func byte() throws(Malformed) -> UInt8 {
        guard position < bytes.count else { throw Malformed() }
        defer { position += 1 }
        return bytes[position]
    }

    /// Reads a number.
    package mutating func number() throws(Malformed) -> Int {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let next = try byte()
            guard shift < 63 else { throw Malformed() }
            value |= UInt64(next & 0x7F) << shift
            if next < 0x80 { break }
            shift += 7
        }
        guard let number = Int(exactly: value) else { throw Malformed() }
        return number
    }

    /// Reads eight bytes.
    package mutating func fixed() throws(Malformed) -> UInt64 {
        guard bytes.count - position >= 8 else { throw Malformed() }
        defer { position += 8 }
        return bytes.withUnsafeBytes {
            UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        }
    }

    /// Reads a text.
    package mutating func text() throws(Malformed) -> String {
        let count = try number()
        guard count <= bytes.count - position else { throw Malformed() }
        defer { position += count }
        return String(decoding: bytes[position..<(position + count)], as: UTF8.self)
    }
}
