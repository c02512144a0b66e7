/// The reason why something sealed could not be made, read or trusted.
///
/// A value that does not open is always one of these, never nil and never garbage (B-TM-12). No case holds a secret or a
/// field's value.
package enum EncryptionError: Error, Hashable, Sendable {
    /// The thing that an error is about.
    package enum Item: Hashable, Sendable {
        case accountSecret, password, recoveryKey, identity, identityPins, keyApproval
        case field(String)
        case assetKey(field: String)
        case asset
        case recordKey(record: String)
        case protection
        case statement
        case zoneState
        case zoneKey(zone: String)
        case shareKey(share: String)
        case invitation(share: String)
        case shareStatement(share: String)
        case link
    }

    /// The key is another one, the bytes were changed, or they were sealed for another place; these cases cannot be
    /// distinguished.
    case doesNotOpen(Item)
    /// Sealed by a newer client, or not sealed at all.
    case unknownVersion(Item, UInt8)
    /// Bytes are missing.
    case truncated(Item)
    /// The bytes or the arguments cannot be right; the reason is a fixed sentence.
    case malformed(Item, reason: String)
    /// The header names another epoch than the key's: a mix of old and new that no honest cloud serves.
    case wrongEpoch(Item, found: UInt32, expected: UInt32)
    /// The cloud offers an epoch below one that this device has seen: it went back in time.
    case epochWentBack(Item, offered: UInt32, seen: UInt32)
    /// The cloud offers a statement below one that this device has seen: it went back in time.
    case counterWentBack(Item, offered: UInt64, seen: UInt64)
    /// The cloud's description is not what the signed statement says, or there is no statement; the reason is a fixed sentence.
    case contradicted(Item, reason: String)
    /// None of the known keys opens this; another record or a share has to be fetched, or access was never given.
    case noKey(Item)
    /// A signature is not by the identity that it names.
    case badSignature(Item)
    /// The administrator who made it had a right once, which another administrator ended.
    case rightEnded(Item)
    /// The user's public identity is another one than the one this device knows.
    case identityReplaced(user: String, pinned: Fingerprint, offered: Fingerprint)
    /// The record differs from the statement of its version: the cloud mixed versions, or changed or removed a part.
    case notAsStated(Difference)
    /// A record of an older time than the one that this device has seen.
    case wentBack(Rollback)
    /// More than this format holds.
    case tooMany(Item, limit: Int)
}

extension EncryptionError {
    /// A Boolean value that indicates whether a cloud that shows an earlier state explains the error.
    package var isOfEarlierState: Bool {
        switch self {
        case .epochWentBack, .counterWentBack, .contradicted, .wentBack: true
        default: false
        }
    }
}

extension EncryptionError: CustomStringConvertible {
    /// A textual form of the value, for logs and debugging.
    package var description: String {
        switch self {
        case .doesNotOpen(let item): "\(item) does not open: the key is another one, or the bytes were changed or moved"
        case .unknownVersion(let item, let version):
            "\(item) has format version \(version), which this version does not know: update this app"
        case .truncated(let item): "\(item) is cut short"
        case .malformed(let item, let reason): "\(item) is malformed: \(reason)"
        case .wrongEpoch(let item, let found, let expected):
            "\(item) was sealed in key epoch \(found) where \(expected) is expected: the cloud mixed old and new"
        case .epochWentBack(let item, let offered, let seen):
            "the cloud offers \(item) in key epoch \(offered), this device has seen \(seen): the cloud went back in time"
        case .counterWentBack(let item, let offered, let seen):
            "the cloud offers number \(offered) of \(item), this device has seen \(seen): the cloud went back in time"
        case .contradicted(.keyApproval, let reason):
            "the approval of the new device is contradicted: \(reason). Nothing was given; do not approve it"
        case .contradicted(let item, let reason):
            "\(item) is contradicted: \(reason). Look at the participants on a device of the owner, and confirm "
                + "them there (welkin share confirm)"
        case .noKey(let item): "no key at hand opens \(item)"
        case .badSignature(let item): "the signature of \(item) is not by who it claims"
        case .rightEnded(let item): "\(item) is by somebody who is no administrator any more"
        case .identityReplaced(let user, let pinned, let offered):
            "the public key of \(user) is \(offered), this device knows \(pinned): compare fingerprints with them "
                + "(welkin keychain trust)"
        case .notAsStated(let difference): "the record differs from its statement: \(difference)"
        case .wentBack(let rollback): "the cloud went back in time: \(rollback)"
        case .tooMany(let item, let limit): "\(item) holds at most \(limit) entries"
        }
    }
}

extension EncryptionError.Item: CustomStringConvertible {
    /// A textual form of the value, for logs and debugging.
    package var description: String {
        switch self {
        case .accountSecret: "the account secret"
        case .password: "the password"
        case .recoveryKey: "the recovery key"
        case .identity: "the public identity"
        case .identityPins: "the list of known identities"
        case .keyApproval: "the approval of a new device"
        case .field(let name): "the encrypted field '\(name)'"
        case .assetKey(let field): "the asset key in field '\(field)'"
        case .asset: "the asset"
        case .recordKey(let record): "the key of record '\(record)'"
        case .protection: "the record's protection"
        case .statement: "the record's statement"
        case .zoneState: "a device's state of the zone"
        case .zoneKey(let zone): "the key of zone '\(zone)'"
        case .shareKey(let share): "the key of share '\(share)'"
        case .invitation(let share): "the invitation to share '\(share)'"
        case .shareStatement(let share): "the statement of share '\(share)'"
        case .link: "the link"
        }
    }
}
