import FaultyNetwork
import Foundation
import HTTPTransfer
import Synchronization
import Testing

/// Mail through a server on this machine.
@Suite(.timeLimit(.minutes(2)))
struct MailClientTests {
    @Test func `a message reaches the server with its receiver, subject and text`() async throws {
        let server = try MailReceiver()
        let client = MailClient(
            MailClient.Server(url: "smtp://127.0.0.1:\(server.port)", sender: "cloud@example.com"))
        try await client.send(
            MailClient.Message(
                receiver: "ops@example.com", subject: "Welkin: disk\r\nBcc: x@y", text: "Line one\n.\nLine three",
                date: "Mon, 23 Nov 2026 04:05:06 +0000"))
        let text = server.received
        #expect(text.contains("MAIL FROM:<cloud@example.com>") && text.contains("RCPT TO:<ops@example.com>"))
        #expect(text.contains("Subject: Welkin: disk  Bcc: x@y\r\n"))
        #expect(!text.contains("\r\nBcc:"))
        // A line of one dot would end the message: it travels with a second one.
        #expect(text.contains("Line one\r\n..\r\nLine three"))
    }

    @Test func `a server that is not there, and one that refuses, are errors without secrets`() async throws {
        let client = MailClient(
            MailClient.Server(url: "smtp://127.0.0.1:1", user: "u", password: "secret", sender: "cloud@example.com"))
        let message = MailClient.Message(receiver: "ops@example.com", subject: "s", text: "t", date: "d")
        await #expect {
            try await client.send(message)
        } throws: { !String(describing: $0).contains("secret") }
        for (url, receiver) in [
            ("http://127.0.0.1:1", "ops@example.com"), ("smtp://127.0.0.1:1", "ops"),
            ("smtp://127.0.0.1:1", "a@b>\r\nRCPT TO:<c@d"),
        ] {
            let wrong = MailClient(MailClient.Server(url: url, sender: "cloud@example.com"))
            await #expect {
                try await wrong.send(.init(receiver: receiver, subject: "", text: "", date: ""))
            } throws: { String(describing: $0).contains("not usable") }
        }
    }
}

/// A mail server that takes one message, on a thread of its own.
private final class MailReceiver: Sendable {
    let port: Int
    private let text = Mutex("")

    /// What the client has sent.
    var received: String { text.withLock { $0 } }

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        try #require(isOpen)
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [self] in
            let connection = accept(listener, nil, nil)
            close(listener)
            defer { close(connection) }
            serve(connection)
        }
    }

    private func serve(_ connection: Int32) {
        func say(_ line: String) {
            _ = line.withCString { send(connection, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
        }
        say("220 test\r\n")
        var pending = ""
        var isData = false
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            let part = String(decoding: buffer[..<count], as: UTF8.self)
            text.withLock { $0 += part }
            pending += part
            if isData {
                guard pending.hasSuffix("\r\n.\r\n") else { continue }
                isData = false
                pending = ""
                say("250 taken\r\n")
                continue
            }
            while let end = pending.range(of: "\r\n") {
                let line = String(pending[..<end.lowerBound])
                pending = String(pending[end.upperBound...])
                if line == "DATA" {
                    isData = true
                    say("354 go on\r\n")
                } else if line == "QUIT" {
                    say("221 bye\r\n")
                    return
                } else {
                    say("250 ok\r\n")
                }
            }
        }
    }
}
