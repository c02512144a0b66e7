import CloudKit

/// The content lines of a file: line ends CRLF or LF, folded lines unfolded (RFC 6350 §3.2).
///
/// Lines are unfolded in bytes, since a fold may be inside a character.
struct VCardLines: Sequence, IteratorProtocol {
    private let bytes: [UInt8]
    private var position = 0
    private var line = 1

    init(_ data: Data) {
        bytes = [UInt8](data)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// The next content line and the line of the file on which it begins; `content` is nil if it is not UTF-8.
    mutating func next() -> (line: Int, content: String?)? {
        guard position < bytes.count else { return nil }
        let first = line
        var content = nextPhysicalLine()
        while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 {
            position += 1
            content += nextPhysicalLine()
        }
        return (first, String(validating: content, as: UTF8.self))
    }

    private mutating func nextPhysicalLine() -> [UInt8] {
        let end = bytes[position...].firstIndex(of: 0x0A) ?? bytes.endIndex
        var text = bytes[position..<end]
        if text.last == 0x0D { text.removeLast() }
        position = Swift.min(end + 1, bytes.endIndex)
        line += 1
        return Array(text)
    }
}
