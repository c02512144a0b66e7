import ArgumentParser
import Foundation
import HTTPTransfer

/// The options for the mail server.
struct MailOptions: ParsableArguments {
    @Option(
        name: .customLong("smtp-url"),
        help: ArgumentHelp(
            "The mail server, smtps://host:port, or smtp://host:port with STARTTLS, for alerts and invitations. With --public-url, addresses of accounts are proved by mailed links.",
            valueName: "url"))
    var smtpURL: String?

    @Option(
        name: .customLong("smtp-from"), help: ArgumentHelp("The address that mail comes from.", valueName: "address"))
    var smtpFrom: String?

    @Option(name: .customLong("smtp-user"), help: ArgumentHelp("The name for the mail server.", valueName: "name"))
    var smtpUser: String?

    @Option(
        name: .customLong("smtp-password-file"),
        help: ArgumentHelp("A file with the password for the mail server in its first line.", valueName: "file"))
    var smtpPasswordFile: String?

    func validate() throws {
        guard (smtpURL == nil) == (smtpFrom == nil) else {
            throw ValidationError("--smtp-url and --smtp-from go together.")
        }
        if let smtpURL, !MailClient.Server(url: smtpURL, sender: "").isUsable {
            throw ValidationError("--smtp-url begins with smtps:// or smtp://.")
        }
        guard smtpURL != nil || (smtpUser == nil && smtpPasswordFile == nil) else {
            throw ValidationError("--smtp-user and --smtp-password-file need --smtp-url.")
        }
    }

    /// Returns the mail server; nil without one.
    ///
    /// - Throws: `CommandFailure` for a password file that cannot be read.
    func mailServer() throws -> MailClient.Server? {
        try Self.mailServer(url: smtpURL, sender: smtpFrom, user: smtpUser, passwordFile: smtpPasswordFile)
    }

    /// Returns the mail server of these settings; nil without one.
    ///
    /// - Throws: `CommandFailure` for a password file that cannot be read.
    static func mailServer(
        url: String?, sender: String?, user: String?, passwordFile: String?
    ) throws -> MailClient.Server? {
        guard let url, let sender else { return nil }
        var password: String?
        if let passwordFile {
            guard let text = try? String(contentsOfFile: passwordFile, encoding: .utf8) else {
                throw CommandFailure("the file \(passwordFile) of --smtp-password-file cannot be read")
            }
            password = text.split(whereSeparator: \.isNewline).first.map(String.init)
        }
        return MailClient.Server(url: url, user: user, password: password, sender: sender)
    }
}
