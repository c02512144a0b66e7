import Foundation
import Testing

/// A browser without script: it keeps the cookie, sends forms with their hidden token, and follows redirections.
struct FormBrowser: Sendable {
    let port: Int
    private(set) var cookie: String?

    init(port: Int) { self.port = port }

    /// A page as it arrived.
    struct Page: Sendable {
        var status: Int
        /// Names in lower case.
        var headers: [String: String]
        var body: String

        /// Returns whether the page shows a text; special characters are those of the page.
        func shows(_ text: String) -> Bool { body.contains(text) }

        /// The values of a form's hidden token.
        var formToken: String? {
            guard let start = body.firstRange(of: "name=\"form-token\" value=\"") else { return nil }
            return String(body[start.upperBound...].prefix { $0 != "\"" })
        }
    }

    mutating func signIn(token: String) async throws {
        let page = try await send("POST", "/console/sign-in", Self.encoded([("token", token)]))
        cookie = page.headers["set-cookie"].map { String($0.prefix { $0 != ";" }) }
        try #require(page.status == 303 && cookie != nil)
    }

    /// Returns a page; follows redirections.
    func get(_ path: String) async throws -> Page { try await followed(send("GET", path, nil)) }

    /// Sends a form as a page of the Console has it, and returns the page that follows.
    ///
    /// - Parameter page: The page with the form; nil: the path itself.
    func submit(_ path: String, _ fields: [(String, String)], token: String? = nil) async throws -> Page {
        var formToken = token
        if formToken == nil { formToken = try await get("/console/containers").formToken }
        return try await followed(
            send("POST", path, Self.encoded(fields + [("form-token", formToken ?? "")])))
    }

    private func followed(_ page: Page) async throws -> Page {
        guard page.status == 303, let next = page.headers["location"] else { return page }
        return try await send("GET", next, nil)
    }

    private static func encoded(_ fields: [(String, String)]) -> String {
        fields.map { "\(encoded($0.0))=\(encoded($0.1))" }.joined(separator: "&")
    }

    private static func encoded(_ text: String) -> String {
        text.utf8.map { String(format: "%%%02X", $0) }.joined()
    }

    /// Sends one request; blocks a thread of its own.
    func send(
        _ method: String, _ path: String, _ body: String?, headers: [String: String] = [:]
    ) async throws -> Page {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
        if let cookie { head += "Cookie: \(cookie)\r\n" }
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if let body {
            head += "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: \(body.utf8.count)\r\n"
        }
        let bytes = Array((head + "\r\n" + (body ?? "")).utf8)
        let port = port
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try Self.exchange(bytes, port: port) })
            }
        }
    }

    private static func exchange(_ bytes: [UInt8], port: Int) throws -> Page {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw BrowserError.system(errno) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw BrowserError.system(errno) }
            rest = rest.dropFirst(count)
        }
        var received: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count >= 0 else { throw BrowserError.system(errno) }
            if count == 0 { break }
            received += chunk[..<count]
        }
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { throw BrowserError.noAnswer }
        let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            if parts.count == 2 { headers[parts[0].lowercased()] = parts[1] }
        }
        return Page(
            status: lines.first.flatMap { Int($0.split(separator: " ")[1]) } ?? 0, headers: headers,
            body: String(decoding: received[end.upperBound...], as: UTF8.self))
    }
}

enum BrowserError: Error {
    case system(Int32)
    case noAnswer
}
