/// The bytes of an HTTP/1.1 request, built once and sent any number of times.
package struct RawRequest: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// - Parameters:
    ///   - path: The target of the request line, with the query.
    ///   - host: The value of the `Host` header.
    package static func post(
        _ path: String, host: String = "127.0.0.1", headers: [(String, String)] = [], body: [UInt8]
    ) -> RawRequest {
        var head = "POST \(path) HTTP/1.1\r\nHost: \(host)\r\nContent-Type: application/json\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        head += "Content-Length: \(body.count)\r\n\r\n"
        return RawRequest(bytes: Array(head.utf8) + body)
    }

    package static func get(
        _ path: String, host: String = "127.0.0.1", headers: [(String, String)] = []
    ) -> RawRequest {
        var head = "GET \(path) HTTP/1.1\r\nHost: \(host)\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        return RawRequest(bytes: Array((head + "\r\n").utf8))
    }
}

/// An answer received on a connection.
package struct RawResponse: Hashable, Sendable {
    package var status: Int
    package var body: [UInt8]

    package var text: String { String(decoding: body, as: UTF8.self) }
}

/// The reason why a request failed.
package enum RawFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The system refused a call; its `errno`.
    case system(call: String, code: Int32)
    /// The other side closed the connection before the answer was complete; the outcome of the request is unknown.
    case connectionLost
    case malformedAnswer
    case timedOut

    package var description: String {
        switch self {
        case .system(let call, let code): "\(call) failed with errno \(code)"
        case .connectionLost: "the connection was lost"
        case .malformedAnswer: "the answer is not HTTP/1.1"
        case .timedOut: "no answer in time"
        }
    }
}
