import CloudKitModel

/// The authenticated sender of a request.
package struct AuthenticatedCaller: Hashable, Sendable {
    /// The user within the container; nil for an app without one.
    package var user: UserID?
    /// The device as records of this container show it: like the user, another in every container, so that apps cannot
    /// recognise a person by it.
    package var deviceID: String?
    /// Whether a server-to-server key signed the request.
    package var isServerKey = false
    /// The app's token; nil for a signed request.
    package var apiToken: APIToken?
    /// The web token that goes back with the answer, whatever the answer is; the old one stays valid until it expires.
    package var nextWebAuthToken: String?
    /// The relation of the device's keys to the account's.
    package var keychain = KeychainStatus.current
    /// The session of the device or browser; what outlives the request ends with it.
    package var sessionID: String?
}
