import ArgumentParser
import Foundation
import OpenIDConnect

/// The options for the provider of identities.
struct ProviderOptions: ParsableArguments {
    @Option(
        name: .customLong("oidc-issuer"),
        help: ArgumentHelp(
            "A provider of OpenID Connect at which people sign in; its address, as it names itself. Needs --public-url; the provider sends browsers back to /provider there.",
            valueName: "url"))
    var issuer: String?

    @Option(
        name: .customLong("oidc-client-id"), help: ArgumentHelp("The cloud's name at the provider.", valueName: "name"))
    var clientID: String?

    @Option(
        name: .customLong("oidc-client-secret-file"),
        help: ArgumentHelp(
            "A file with the cloud's secret at the provider in its first line; without it the cloud is a public client.",
            valueName: "file"))
    var clientSecretFile: String?

    @Option(
        name: .customLong("oidc-name"),
        help: ArgumentHelp(
            "The name of the provider on the pages; by default its host.", valueName: "text"))
    var name: String?

    func validate() throws {
        guard (issuer == nil) == (clientID == nil) else {
            throw ValidationError("--oidc-issuer and --oidc-client-id go together.")
        }
        if let issuer, !ProviderSettings.isUsable(issuer) {
            throw ValidationError("--oidc-issuer begins with https://, or is an http address of this machine.")
        }
        guard issuer != nil || (clientSecretFile == nil && name == nil) else {
            throw ValidationError("--oidc-client-secret-file and --oidc-name need --oidc-issuer.")
        }
    }

    /// Returns the provider; nil without one.
    ///
    /// - Parameter now: Milliseconds since 1970.
    /// - Throws: `CommandFailure` for a file that cannot be read.
    func provider(now: @escaping @Sendable () -> Int64) throws -> OpenIDProvider? {
        guard let issuer, let clientID else { return nil }
        var secret: String?
        if let clientSecretFile {
            guard let text = try? String(contentsOfFile: clientSecretFile, encoding: .utf8),
                let line = text.split(whereSeparator: \.isNewline).first
            else {
                throw CommandFailure(
                    "the file \(clientSecretFile) of --oidc-client-secret-file cannot be read, or is empty")
            }
            secret = String(line)
        }
        let host = issuer.drop { $0 != "/" }.drop { $0 == "/" }.prefix { $0 != "/" }
        return OpenIDProvider(
            ProviderSettings(
                issuer: issuer, clientID: clientID, clientSecret: secret, label: name ?? String(host)),
            now: now)
    }
}
