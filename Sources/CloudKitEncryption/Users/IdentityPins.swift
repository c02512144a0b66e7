/// The public identities that this device knows, by user: believed at first sight, and a change is an error (B-TM-08).
///
/// A small value that a file in the profile's folder holds.
package struct IdentityPins: Hashable, Codable, Sendable {
    private var known: [String: Fingerprint] = [:]
    /// Identities that the user of this device confirmed after another one had been known; nil if there are none.
    private var confirmed: [String: Fingerprint]?

    /// Creates a value without pins.
    package init() {}

    /// The name under which a user whom one meets in a zone is known: their record name differs from container to container.
    package static func name(of user: String, in zone: ZoneAddress) -> String {
        "\(zone.container)/\(zone.environment)/\(user)"
    }

    /// Compares an identity with the one that is pinned for the user, or pins it when the user is seen for the first time.
    /// - Parameter user: a name that is unique on this device, as `name(of:in:)` makes it.
    /// - Returns: whether this is the first time, so that the pins have to be written.
    /// - Throws: `identityReplaced` if the user had other keys before.
    @discardableResult
    package mutating func check(_ identity: PublicIdentity, of user: String) throws(EncryptionError) -> Bool {
        guard let pinned = known[user] else {
            known[user] = identity.fingerprint
            return true
        }
        guard pinned == identity.fingerprint else {
            throw .identityReplaced(user: user, pinned: pinned, offered: identity.fingerprint)
        }
        return false
    }

    /// Returns the fingerprint that this device has pinned for a user; nil if there is none.
    package func fingerprint(of user: String) -> Fingerprint? { known[user] }

    /// Trusts new keys, after the users compared fingerprints.
    package mutating func replace(with identity: PublicIdentity, of user: String) {
        known[user] = identity.fingerprint
        confirmed = (confirmed ?? [:]).merging([user: identity.fingerprint]) { $1 }
    }

    /// Returns a Boolean value that indicates whether new keys were trusted by `replace`, so that they count more than an
    /// identity that another device knew before.
    package func isConfirmed(_ identity: Fingerprint, of user: String) -> Bool { confirmed?[user] == identity }

    /// Forgets the identity of a user.
    package mutating func forget(_ user: String) {
        known[user] = nil
        confirmed?[user] = nil
    }
}
