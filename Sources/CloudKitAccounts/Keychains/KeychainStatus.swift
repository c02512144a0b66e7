import CloudKitModel

/// The relation of the keys that a caller's device holds to the account's keychain.
package enum KeychainStatus: Hashable, Sendable {
    case current
    /// The keychain was reset since the device signed in (B-TM-12).
    case outdated
    /// The keychain was reset just now, and the zones it sealed are being marked.
    case resetting

    /// Checks that private and shared databases may be used (B-ACC-02).
    ///
    /// - Throws: `accountTemporarilyUnavailable`, `tryAgainLater`.
    package func check() throws(RequestFailure) {
        switch self {
        case .current: break
        case .outdated: throw .keychainOutdated
        case .resetting:
            throw RequestFailure(
                .tryAgainLater, "the account's keys are being reset", remedy: "Try again.", retryAfter: 1)
        }
    }
}
