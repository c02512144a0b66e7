import Foundation
import HTTPTransfer

/// The settings of a cloud as commands beside it read them: from the environment and the file of settings.
struct CloudSettings {
    private var values: [String: [String]] = [:]

    /// Reads the settings.
    ///
    /// - Throws: `CommandFailure` for a file that cannot be read or is not valid.
    init(environment: [String: String] = ProcessInfo.processInfo.environment) throws {
        for setting in try ServeSettings.effective([], environment: environment).settings.settings {
            values[setting.option.name] = setting.values
        }
    }

    /// Returns the value of a setting; nil where nothing sets it.
    func text(_ name: String) -> String? { values[name]?.last }

    /// The address at which clients reach the cloud, without a slash at the end.
    var publicURL: String {
        if let url = text("public-url") { return url.hasSuffix("/") ? String(url.dropLast()) : url }
        let host = text("host") ?? "127.0.0.1"
        let shown = ["0.0.0.0", "::"].contains(host) ? "127.0.0.1" : host.contains(":") ? "[\(host)]" : host
        return "\(text("tls-certificate") == nil ? "http" : "https")://\(shown):\(text("port") ?? "8080")"
    }
}

extension CloudSettings {
    /// Returns the mail server of the cloud; nil without one.
    ///
    /// - Throws: `CommandFailure` for a password file that cannot be read.
    func mailServer() throws -> MailClient.Server? {
        try MailOptions.mailServer(
            url: text("smtp-url"), sender: text("smtp-from"), user: text("smtp-user"),
            passwordFile: text("smtp-password-file"))
    }
}
