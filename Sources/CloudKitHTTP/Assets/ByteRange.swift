/// The part of a file that a request asks for (RFC 9110 §14).
enum ByteRange: Hashable {
    /// All of it: no range was asked for, or one of a form that may be ignored.
    case whole
    /// From the first byte, included, to the last, excluded.
    case part(Range<Int64>)
    /// The range is outside of the file.
    case unsatisfiable

    /// - Parameters:
    ///   - header: `Range`, nil where there is none. Several ranges at once are answered with the whole.
    ///   - size: Bytes of the file.
    init(_ header: String?, size: Int64) {
        guard let header, header.hasPrefix("bytes="), !header.contains(",") else {
            self = .whole
            return
        }
        let ends = header.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]) else {
            self = .whole
            return
        }
        switch (first, last) {
        case (nil, nil): self = .whole
        case (nil, let count?): self = count > 0 && size > 0 ? .part(max(0, size - count)..<size) : .unsatisfiable
        case (let first?, let last):
            if let last, last < first {
                self = .whole
            } else {
                self = first < size ? .part(first..<min(size, (last ?? size - 1) + 1)) : .unsatisfiable
            }
        }
    }

    /// Returns the number in a text, nothing for an empty text, and nil for a text that is no number.
    private static func number(_ text: Substring) -> Int64?? {
        if text.isEmpty { return .some(nil) }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        // Beyond any file.
        return .some(min(Int64(text) ?? .max, .max - 1))
    }
}
