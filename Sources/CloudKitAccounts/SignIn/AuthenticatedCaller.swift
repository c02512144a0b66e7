import CloudKitModel

/// The authenticated sender of a request.
///
/// A class: a request hands it on a dozen times, and a copy counts the references of all its texts.
package final class AuthenticatedCaller: Sendable {
    /// The user within the container; nil for an app without one.
    package let user: UserID?
    /// The device as records of this container show it: like the user, another in every container, so that apps cannot
    /// recognise a person by it.
    package let deviceID: String?
    /// Whether a server-to-server key signed the request.
    package let isServerKey: Bool
    /// The app's token; nil for a signed request.
    package let apiToken: APIToken?
    /// The web token that goes back with the answer, whatever the answer is; the old one stays valid until it expires.
    package let nextWebAuthToken: String?
    /// The relation of the device's keys to the account's.
    package let keychain: KeychainStatus
    /// The generation of the account's keys that the device was given; nil: a sender without keys.
    package let keychainGeneration: Int?
    /// The session of the device or browser; what outlives the request ends with it.
    package let sessionID: String?

    init(
        user: UserID? = nil, deviceID: String? = nil, isServerKey: Bool = false, apiToken: APIToken? = nil,
        nextWebAuthToken: String? = nil, keychain: KeychainStatus = .current,
        keychainGeneration: Int? = nil, sessionID: String? = nil
    ) {
        self.user = user
        self.deviceID = deviceID
        self.isServerKey = isServerKey
        self.apiToken = apiToken
        self.nextWebAuthToken = nextWebAuthToken
        self.keychain = keychain
        self.keychainGeneration = keychainGeneration
        self.sessionID = sessionID
    }
}
