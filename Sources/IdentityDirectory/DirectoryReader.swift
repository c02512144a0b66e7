/// Reads a format of the directory from front to back.
struct DirectoryReader {
    private var rest: ArraySlice<UInt8>
    private let item: String

    /// - Parameter item: The name of the format, for errors.
    init(_ bytes: [UInt8], of item: String) {
        rest = bytes[...]
        self.item = item
    }

    var malformed: DirectoryError { .malformed(item) }

    mutating func take(_ count: Int) throws(DirectoryError) -> [UInt8] {
        guard count <= rest.count else { throw malformed }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func takeByte() throws(DirectoryError) -> UInt8 { try take(1)[0] }

    mutating func takeCount() throws(DirectoryError) -> Int {
        try take(2).reduce(0) { $0 << 8 | Int($1) }
    }

    mutating func takeNumber() throws(DirectoryError) -> UInt64 {
        try take(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func takeHash() throws(DirectoryError) -> DirectoryHash {
        guard let hash = DirectoryHash(try take(DirectoryHash.byteCount)) else { throw malformed }
        return hash
    }

    mutating func takeIndex() throws(DirectoryError) -> DirectoryIndex {
        guard let index = DirectoryIndex(try take(DirectoryIndex.byteCount)) else { throw malformed }
        return index
    }

    func finish() throws(DirectoryError) {
        guard rest.isEmpty else { throw malformed }
    }
}

extension [UInt8] {
    mutating func appendBigEndian(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
