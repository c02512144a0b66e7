import Foundation
import Testing

/// Sends HTTP/1.1 over a plain socket: the bytes sent are exactly those of the test.
///
/// Blocks its own thread, never one of those that the cloud needs to answer.
struct RawClient: Sendable {
    var port: Int

    /// The response of a server.
    struct Answer: Sendable {
        var status: Int
        /// Names in lower case.
        var headers: [String: String]
        var body: String

        /// A value in the body, which is a JSON object, by its path.
        subscript(path: String...) -> Any? {
            var value: Any? = try? JSONSerialization.jsonObject(with: Data(body.utf8))
            for key in path {
                if let index = Int(key), let list = value as? [Any] {
                    value = index < list.count ? list[index] : nil
                } else {
                    value = (value as? [String: Any])?[key]
                }
            }
            return value
        }
    }

    /// Sends one request and reads its answer.
    func send(
        _ method: String, _ target: String, body: String = "", headers: [String: String] = [:]
    ) async throws -> Answer {
        let answers = try await exchange([Self.request(method, target, body: body, headers: headers)])
        guard let answer = answers.first else { throw ClientError.noAnswer }
        return answer
    }

    func post(_ target: String, _ body: String, headers: [String: String] = [:]) async throws -> Answer {
        try await send("POST", target, body: body, headers: headers)
    }

    func get(_ target: String, headers: [String: String] = [:]) async throws -> Answer {
        try await send("GET", target, headers: headers)
    }

    /// Sends requests one after the other on one connection, reads an answer to each and compares it with the API's document.
    ///
    /// - Parameter hangsUp: Closes the connection after the last request's bytes instead of reading its answer.
    func exchange(_ requests: [[UInt8]], hangsUp: Bool = false) async throws -> [Answer] {
        let answers = try await answers(to: requests, hangsUp: hangsUp)
        for (request, answer) in zip(requests, answers) {
            let line = String(decoding: request.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self).split(
                separator: " ")
            guard line.count == 3 else { continue }
            if let problem = APIDocument.complete.problem(answer, to: String(line[0]), String(line[1])) {
                Issue.record("the answer is not as /openapi.json says: \(problem)")
            }
        }
        return answers
    }

    private func answers(to requests: [[UInt8]], hangsUp: Bool) async throws -> [Answer] {
        try await RawConnection.run(port: port) { connection in
            var answers: [Answer] = []
            for (index, request) in requests.enumerated() {
                try connection.write(request)
                if hangsUp, index == requests.count - 1 { break }
                answers.append(try connection.readAnswer(hasBody: !request.starts(with: "HEAD".utf8)))
            }
            return answers
        }
    }

    static func request(
        _ method: String, _ target: String, body: String = "", headers: [String: String] = [:]
    ) -> [UInt8] {
        var head = "\(method) \(target) HTTP/1.1\r\n"
        if headers["Host"] == nil { head += "Host: 127.0.0.1\r\n" }
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if !body.isEmpty || method == "POST" { head += "Content-Length: \(body.utf8.count)\r\n" }
        return Array((head + "\r\n" + body).utf8)
    }
}

enum ClientError: Error {
    case system(String, Int32)
    case noAnswer
}

/// One connection, with the bytes that were read but not used.
struct RawConnection {
    private let descriptor: Int32
    private var unread: [UInt8] = []

    /// - Parameter receiveBufferBytes: The size of the system's buffer for what was not read yet; nil: the system chooses.
    init(port: Int, receiveBufferBytes: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var size = receiveBufferBytes {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw ClientError.system("connect", errno) }
    }

    /// Uses a connection on a thread of its own, which may block, and closes it.
    static func run<Value: Sendable>(
        port: Int, _ body: @escaping @Sendable (inout RawConnection) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        var connection = try RawConnection(port: port)
                        defer { connection.close() }
                        return try body(&connection)
                    })
            }
        }
    }

    func close() { Foundation.close(descriptor) }

    /// Tells the server that nothing more will be sent.
    func endInput() { shutdown(descriptor, Int32(SHUT_WR)) }

    func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw ClientError.system("send", errno) }
            rest = rest.dropFirst(count)
        }
    }

    /// - Parameter hasBody: false: the response consists of the head, also if the head announces a body.
    mutating func readAnswer(hasBody: Bool) throws -> RawClient.Answer {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let start = unread.firstRange(of: end) {
                let head = String(decoding: unread[..<start.lowerBound], as: UTF8.self)
                unread.removeSubrange(..<start.upperBound)
                return try answer(head, hasBody: hasBody)
            }
            try readMore()
        }
    }

    private mutating func answer(_ head: String, hasBody: Bool) throws -> RawClient.Answer {
        let lines = head.split(separator: "\r\n")
        let status = lines.first.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            headers[parts[0].lowercased()] = parts.count > 1 ? parts[1] : ""
        }
        let length = hasBody ? headers["content-length"].flatMap { Int($0) } ?? 0 : 0
        while unread.count < length { try readMore() }
        let body = String(decoding: unread[..<length], as: UTF8.self)
        unread.removeSubrange(..<length)
        return RawClient.Answer(status: status, headers: headers, body: body)
    }

    /// Waits for further bytes and reads them.
    ///
    /// - Parameter bytesMax: At most so many.
    mutating func readMore(bytesMax: Int = 65_536) throws {
        var chunk = [UInt8](repeating: 0, count: bytesMax)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { throw count == 0 ? ClientError.noAnswer : ClientError.system("recv", errno) }
        unread += chunk[..<count]
    }
}
