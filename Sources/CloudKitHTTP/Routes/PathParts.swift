/// The parts of a path between its slashes.
///
/// Bytes in one piece, not characters: this runs for every request.
struct PathParts {
    private var rest: UnsafeBufferPointer<UInt8>.SubSequence

    init(_ path: UnsafeBufferPointer<UInt8>) { rest = path[...] }

    /// Takes the beginning, up to a slash, and the slash; empty at the end.
    mutating func nextBytes() -> UnsafeBufferPointer<UInt8> {
        let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        defer { rest = end == rest.endIndex ? rest[end...] : rest[(end + 1)...] }
        return UnsafeBufferPointer(rebasing: rest[..<end])
    }

    /// Takes the beginning, up to a slash, as a text.
    mutating func next() -> String { String(decoding: nextBytes(), as: UTF8.self) }

    /// What is left.
    var text: String { String(decoding: rest, as: UTF8.self) }
}
