/// Reads a format from front to back; a missing part is an error that names the item.
struct ByteReader {
    private var rest: ArraySlice<UInt8>
    private let item: EncryptionError.Item

    init(_ bytes: [UInt8], of item: EncryptionError.Item) {
        rest = bytes[...]
        self.item = item
    }

    mutating func take(_ count: Int) throws(EncryptionError) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw .truncated(item) }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func takeNumber<Number: FixedWidthInteger & UnsignedInteger>(
        _: Number.Type = Number.self
    ) throws(EncryptionError) -> Number {
        try take(MemoryLayout<Number>.size).reduce(0) { $0 << 8 | Number($1) }
    }

    /// Takes the version byte that every format begins with.
    mutating func takeVersion(_ known: UInt8 = 1) throws(EncryptionError) {
        let version = try takeNumber(UInt8.self)
        guard version == known else { throw .unknownVersion(item, version) }
    }

    /// A record name behind its length in 2 bytes.
    mutating func takeName() throws(EncryptionError) -> String {
        let count = try takeNumber(UInt16.self)
        guard let name = String(validating: try take(Int(count)), as: UTF8.self) else {
            throw malformed("a name is not UTF-8")
        }
        return name
    }

    /// A byte that is 0 or 1.
    mutating func takeFlag() throws(EncryptionError) -> Bool {
        let flag = try takeNumber(UInt8.self)
        guard flag <= 1 else { throw malformed("a flag is 0 or 1") }
        return flag == 1
    }

    func malformed(_ reason: String) -> EncryptionError { .malformed(item, reason: reason) }

    mutating func takeRest() -> ArraySlice<UInt8> {
        defer { rest = [] }
        return rest
    }

    func finish() throws(EncryptionError) {
        guard rest.isEmpty else { throw malformed("bytes follow the end") }
    }
}
