import ArgumentParser
import Foundation
import HTTPTransfer

/// The options for alerts.
struct AlertOptions: ParsableArguments {
    @Option(
        name: .customLong("alert-allow-host"), parsing: .singleValue,
        help: ArgumentHelp(
            "A host, or host:port, to which web hooks of alerts may be sent although it is in a private network or speaks plain HTTP; may be repeated.",
            valueName: "host"))
    var namedHosts: [String] = []

    @Option(
        name: .customLong("smtp-url"),
        help: ArgumentHelp(
            "The mail server for alerts, smtps://host:port, or smtp://host:port with STARTTLS.", valueName: "url"))
    var smtpURL: String?

    @Option(
        name: .customLong("smtp-from"), help: ArgumentHelp("The address that alerts come from.", valueName: "address"))
    var smtpFrom: String?

    @Option(name: .customLong("smtp-user"), help: ArgumentHelp("The name for the mail server.", valueName: "name"))
    var smtpUser: String?

    @Option(
        name: .customLong("smtp-password-file"),
        help: ArgumentHelp("A file with the password for the mail server in its first line.", valueName: "file"))
    var smtpPasswordFile: String?

    func validate() throws {
        for host in namedHosts where host.isEmpty || host.contains(where: { "/@ ".contains($0) }) {
            throw ValidationError("--alert-allow-host is a host, or host:port, without scheme and path.")
        }
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
        guard let smtpURL, let smtpFrom else { return nil }
        var password: String?
        if let smtpPasswordFile {
            guard let text = try? String(contentsOfFile: smtpPasswordFile, encoding: .utf8) else {
                throw CommandFailure("the file \(smtpPasswordFile) of --smtp-password-file cannot be read")
            }
            password = text.split(whereSeparator: \.isNewline).first.map(String.init)
        }
        return MailClient.Server(url: smtpURL, user: smtpUser, password: password, sender: smtpFrom)
    }
}
