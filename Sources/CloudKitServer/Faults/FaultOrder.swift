import CloudKitAccounts
import CloudKitModel

/// An order of an operator for a container in development, from the command line or over HTTP, so that a developer can test
/// an app's reaction.
package enum FaultOrder: Hashable, Sendable {
    /// The person concerned.
    package enum Person: Hashable, Sendable {
        /// By the address of their account.
        case email(String)
        /// By the user's name in the container, as records show it.
        case user(UserID)
    }

    /// A fault that lasts until its time is over or it is removed, see `Faults.order`.
    case fault(Fault.Kind, for: Person?, seconds: Double?, bytes: UInt64?, sendsRetryAfter: Bool)
    case removeFault(id: String)
    /// Those that name this container.
    case removeAllFaults
    /// Change tokens given out so far are too old (B-CHG-09): a zone's, or those of the private database's own feed.
    case expireTokens(of: Person, zone: String?)
    /// Deletions so far are forgotten, and with them the tokens from before (B-BKD-12).
    case compactZone(String, of: Person)
    /// The person removed the zone in the system's settings (B-ZN-10).
    case purgeZone(String, of: Person)
    /// The keys of a zone were lost (B-ZN-12); nil: of every zone of the container that may hold something sealed.
    case resetKeys(ofZone: String?, of: Person)
    /// The account's keychain is taken away, as if all devices and words were lost (B-TM-12).
    case resetKeychain(of: Person)
    /// A device of the person is signed out; named by its id or the first digits of it.
    case signOut(device: String, of: Person)

    /// A Boolean value that indicates whether the order changes what an account has in every container.
    package var concernsAccount: Bool {
        switch self {
        case .resetKeychain, .signOut: true
        case .fault, .removeFault, .removeAllFaults, .expireTokens, .compactZone, .purgeZone, .resetKeys: false
        }
    }
}

/// The outcome of an order.
package struct FaultOutcome: Hashable, Sendable {
    /// The fault that was ordered.
    package var fault: Fault?
    /// Faults removed.
    package var removed: Int?
    /// Deletions that compaction removed from a zone's feed.
    package var forgotten: Int?
    /// Zones whose keys count as lost.
    package var zones: Int?
    /// The device that was signed out, as its owner named it.
    package var device: DeviceSession?
    /// The user concerned.
    package var user: UserID?
    /// The account that was changed: what processes remember of it is out of date.
    package var account: String?
}
