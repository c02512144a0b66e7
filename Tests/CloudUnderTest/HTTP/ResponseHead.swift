/// The parsed head of an answer.
struct ResponseHead: Hashable {
    enum Length: Hashable {
        case fixed(Int)
        case chunked
    }

    enum Search: Hashable {
        case incomplete, malformed
        case found(ResponseHead)
    }

    var status: Int
    /// The number of bytes before the body.
    var size: Int
    var length: Length

    /// Parses the head of an answer when it is complete.
    static func find(in bytes: [UInt8], count: Int) -> Search {
        guard let size = end(of: bytes, count: count) else { return .incomplete }
        // HTTP/1.1 200 OK
        guard size > 12, bytes[0] == UInt8(ascii: "H"), let status = number(bytes[9..<12]) else { return .malformed }
        var length = Length.fixed(0)
        for line in bytes[..<size].split(separator: 0x0A).dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let value = line[(colon + 1)...].filter { $0 > 0x20 }
            if isName(line[..<colon], "content-length") {
                guard let count = number(value[...]) else { return .malformed }
                length = .fixed(count)
            } else if isName(line[..<colon], "transfer-encoding") {
                length = .chunked
            }
        }
        return .found(ResponseHead(status: status, size: size, length: length))
    }

    /// Joins the chunks of a body; nil while they are incomplete.
    static func unchunked(_ bytes: ArraySlice<UInt8>) -> (body: [UInt8], end: Int)? {
        var body: [UInt8] = []
        var position = bytes.startIndex
        while let lineEnd = bytes[position...].firstIndex(of: 0x0A) {
            let digits = String(decoding: bytes[position..<lineEnd].prefix { $0 > 0x20 && $0 != 0x3B }, as: UTF8.self)
            guard let size = Int(digits, radix: 16) else { return nil }
            let next = lineEnd + 1 + size + 2
            guard next <= bytes.endIndex else { return nil }
            if size == 0 { return (body, next) }
            body += bytes[(lineEnd + 1)..<(lineEnd + 1 + size)]
            position = next
        }
        return nil
    }

    private static func end(of bytes: [UInt8], count: Int) -> Int? {
        var position = 3
        while position < count {
            if bytes[position] == 0x0A, bytes[position - 1] == 0x0D, bytes[position - 2] == 0x0A { return position + 1 }
            position += 1
        }
        return nil
    }

    private static func isName(_ bytes: ArraySlice<UInt8>, _ name: StaticString) -> Bool {
        bytes.count == name.utf8CodeUnitCount
            && zip(bytes, UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
                .allSatisfy { $0 | 0x20 == $1 | 0x20 }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        digits.isEmpty || !digits.allSatisfy { 0x30...0x39 ~= $0 }
            ? nil : digits.reduce(0) { $0 &* 10 &+ Int($1 - 0x30) }
    }
}
