import CloudKitAccounts
import Foundation
import HTTPTransfer

/// Mail to people through an SMTP server.
struct SMTPDelivery: MailDelivery {
    var client: MailClient
    /// Milliseconds since 1970.
    var now: @Sendable () -> Int64

    func send(_ mail: AccountMail) async throws {
        try await client.send(
            MailClient.Message(
                receiver: mail.receiver, subject: mail.subject, text: mail.text + "\n", date: Self.date(now())))
    }

    /// Returns a time as mail has it.
    static func date(_ milliseconds: Int64) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "UTC")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss Z"
        return formatter.string(from: Date(timeIntervalSince1970: Double(milliseconds) / 1000))
    }
}
