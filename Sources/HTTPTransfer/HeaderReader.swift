/// Collects the header of an answer, line by line as it comes.
struct HeaderReader {
    /// Of all lines of one answer, interim answers and trailers included.
    static let bytesMax = 256 << 10

    private(set) var fields: [String: String] = [:]
    private var bytes = 0
    /// Whether the empty line was seen: the next lines are a trailer, or the answer after an interim one.
    private(set) var isOver = false

    /// Takes in one line, with its line end.
    ///
    /// - Returns: Whether it is all still within bounds.
    mutating func read(_ line: some Collection<UInt8>) -> Bool {
        bytes += line.count
        guard bytes <= Self.bytesMax else { return false }
        if line.starts(with: "HTTP/".utf8) {
            fields = [:]
            isOver = false
        } else if line.allSatisfy(\.isLineEnd) {
            isOver = true
        } else if !isOver {
            add(line)
        }
        return true
    }

    private mutating func add(_ line: some Collection<UInt8>) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        var value = line[line.index(after: colon)...].drop(while: \.isBlank)
        // At most the line itself is cut off, so there is always a byte to look at.
        var end = value.count
        var last = value.endIndex
        while end > 0 {
            let before = value.index(value.startIndex, offsetBy: end - 1)
            guard value[before].isBlank else { break }
            last = before
            end -= 1
        }
        value = value[..<last]
        let text = String(decoding: value, as: UTF8.self)
        fields[name] = fields[name].map { $0 + ", " + text } ?? text
    }
}

extension UInt8 {
    fileprivate var isLineEnd: Bool { self == 13 || self == 10 }
    fileprivate var isBlank: Bool { self == 32 || self == 9 || isLineEnd }
}
