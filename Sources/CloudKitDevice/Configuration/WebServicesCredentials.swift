import Foundation

/// The credentials with which the framework speaks documented web services alone (docs/web-services.md §17).
package enum WebServicesCredentials: Hashable, Sendable {
    /// The API token alone: what anyone may read of the public database.
    case apiToken
    /// A user's web auth token, in a file that is replaced whenever the service gives the next one.
    case webAuthToken(file: String)
    /// A server-to-server key: the public database, as the key's own user.
    case serverKey(id: String, file: String)
}

extension WebServicesCredentials {
    /// The key `webServices` of a `cloudkit.json`: an object, empty for the API token alone.
    struct File: Codable, Hashable {
        var webAuthTokenFile: String?
        var keyID: String?
        var keyFile: String?
    }

    /// Reads the credentials of a process; nil: its cloud knows the additions to web services.
    ///
    /// - Throws: `webServicesIncomplete` for a key without its file, and the reverse.
    init?(variables: [String: String], file: File?) throws(DeviceConfigurationError) {
        let keyID = variables.setting("CLOUDKIT_KEY_ID") ?? file?.keyID
        let keyFile = variables.setting("CLOUDKIT_KEY_FILE") ?? file?.keyFile
        let tokenFile = variables.setting("CLOUDKIT_WEB_AUTH_TOKEN_FILE") ?? file?.webAuthTokenFile
        switch (keyID, keyFile, tokenFile) {
        case (let id?, let path?, nil): self = .serverKey(id: id, file: path)
        case (nil, nil, let path?): self = .webAuthToken(file: path)
        case (nil, nil, nil):
            guard file != nil || variables.setting("CLOUDKIT_WEB_SERVICES") == "1" else { return nil }
            self = .apiToken
        default: throw .webServicesIncomplete
        }
    }
}
