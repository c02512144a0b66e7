import HTTPTransfer
import MailReceiver
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

    @Test func `a server that refuses the receiver is an error`() async throws {
        let server = try MailReceiver()
        server.refuse(true)
        let client = MailClient(
            MailClient.Server(url: "smtp://127.0.0.1:\(server.port)", sender: "cloud@example.com"))
        await #expect(throws: MailClient.Failure.self) {
            try await client.send(.init(receiver: "ops@example.com", subject: "s", text: "t", date: "d"))
        }
        #expect(server.taken.isEmpty)
        server.refuse(false)
        try await client.send(.init(receiver: "ops@example.com", subject: "s", text: "t", date: "d"))
        #expect(server.taken.map(\.receiver) == ["ops@example.com"])
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
