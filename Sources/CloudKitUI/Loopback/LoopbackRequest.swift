/// A request of a browser on this machine.
struct LoopbackRequest: Hashable, Sendable {
    /// The largest head and body that are read, in bytes.
    static let headBytesMax = 16_384
    static let bodyBytesMax = 65_536

    var method: String
    var path: String
    /// By lower-case name; a header that comes twice is refused.
    var headers: [String: String] = [:]
    var body: [UInt8] = []

    /// What the bytes that have arrived are.
    enum Reading: Hashable {
        case incomplete
        case request(LoopbackRequest)
        /// No request that this listener takes; the status to answer with.
        case refused(Int)
    }

    /// Reads a request of HTTP/1.1 with a body of known length, or none.
    static func read(_ bytes: [UInt8]) -> Reading {
        guard let end = headEnd(bytes) else { return bytes.count > headBytesMax ? .refused(431) : .incomplete }
        guard end <= headBytesMax, let text = String(validating: bytes[..<end], as: UTF8.self) else {
            return .refused(end > headBytesMax ? 431 : 400)
        }
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
        let start = lines.removeFirst().split(separator: " ", omittingEmptySubsequences: false)
        guard start.count == 3, start[1].hasPrefix("/"), start[2] == "HTTP/1.1" || start[2] == "HTTP/1.0" else {
            return .refused(400)
        }
        var request = LoopbackRequest(method: String(start[0]), path: String(start[1]))
        for line in lines {
            guard let (name, value) = header(line), request.headers[name] == nil else { return .refused(400) }
            request.headers[name] = value
        }
        if request.headers["transfer-encoding"] != nil { return .refused(411) }
        let length = request.headers["content-length"]
        guard let count = length == nil ? 0 : length.flatMap({ Int($0) }), count >= 0 else { return .refused(400) }
        guard count <= bodyBytesMax else { return .refused(413) }
        let rest = bytes[(end + 4)...]
        guard rest.count >= count else { return .incomplete }
        request.body = Array(rest.prefix(count))
        return .request(request)
    }

    private static func headEnd(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        let mark: [UInt8] = [13, 10, 13, 10]
        return (0...bytes.count - 4).first { bytes[$0] == 13 && Array(bytes[$0..<$0 + 4]) == mark }
    }

    private static func header(_ line: Substring) -> (String, String)? {
        guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else { return nil }
        let name = line[..<colon].lowercased()
        guard name.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else { return nil }
        let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        return (name, String(value))
    }
}

/// An answer to a browser on this machine.
struct LoopbackResponse: Hashable, Sendable {
    var status: Int
    var headers: [String: String] = [:]
    var body: [UInt8] = []

    /// The bytes of the answer; the connection ends with it.
    var bytes: [UInt8] {
        var head = "HTTP/1.1 \(status) \(Self.reason(status))\r\n"
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) { head += "\(name): \(value)\r\n" }
        head += "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        return Array(head.utf8) + body
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 204: "No Content"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 410: "Gone"
        case 411: "Length Required"
        case 413: "Content Too Large"
        case 421: "Misdirected Request"
        case 431: "Request Header Fields Too Large"
        default: "Answer"
        }
    }
}
