import CloudKitModel

/// The protection of a record's sealed values after a save, or the reason for refusing it.
///
/// The server cannot open what it stores; these rules keep the parts of a record together: every value in sealed form, one
/// record, one key, one epoch.
package enum ProtectionDecision: Hashable, Sendable {
    case store(Protection?)
    case refuse(RequestFailure)

    /// Checked in this order: form of the values, protection sent with them, its size, the zone's epoch, the values'
    /// epoch, that a record whose key changes was sealed again as a whole, by a device that knows the present one.
    ///
    /// - Parameters:
    ///   - set: The fields of the save as the schema has them.
    ///   - merged: All fields of the record after it.
    ///   - sent: The protection that came with the save; nil: none.
    ///   - held: The record's own; nil: none, or no record.
    ///   - zoneEpoch: The epoch under which values have to be sealed now.
    ///   - checksTag: Whether the save is of the version that the cloud holds.
    package init(
        set: [Field], merged: [Field], sent: Protection?, held: Protection?, zoneEpoch: UInt32, checksTag: Bool
    ) {
        do throws(RequestFailure) {
            self = .store(
                try Self.evaluate(
                    set, merged: merged, sent: sent, held: held, zoneEpoch: zoneEpoch, checksTag: checksTag))
        } catch {
            self = .refuse(error)
        }
    }

    private static func evaluate(
        _ set: [Field], merged: [Field], sent: Protection?, held: Protection?, zoneEpoch: UInt32,
        checksTag: Bool
    ) throws(RequestFailure) -> Protection? {
        var epochs: Set<UInt32> = []
        for field in set where field.type.isEncrypted {
            guard let epoch = field.sealedEpoch else { throw .notSealed(field.name) }
            epochs.insert(epoch)
        }
        guard let sent else {
            if !epochs.isEmpty { throw .unprotected }
            return held
        }
        guard sent.keys.count <= Protection.keysBytesMax else { throw .protectionTooLarge }
        if sent.epoch < zoneEpoch { throw .staleKeyEpoch }
        guard sent.epoch == zoneEpoch, epochs.isSubset(of: [sent.epoch]) else { throw .otherKeyEpoch }
        if sent != held, !isResealed(merged, by: set) { throw .staleKeyEpoch }
        // A save that overwrites any stored version may not know for whom the record's key was wrapped since.
        if sent != held, held != nil, !checksTag { throw .staleKeyEpoch }
        return sent
    }

    /// Returns whether this save brings every sealed value and every key of a file that the record will have.
    private static func isResealed(_ merged: [Field], by set: [Field]) -> Bool {
        let names = Set(set.lazy.map(\.name))
        return merged.allSatisfy { !holdsKeys($0) || names.contains($0.name) }
    }

    /// Returns whether a field holds keys. Those of files are sealed under the record's key, as encrypted values are.
    private static func holdsKeys(_ field: Field) -> Bool {
        guard field.type.base == .asset else { return field.type.isEncrypted }
        // A damaged value cannot be distinguished from a key, and is not left behind.
        return (try? field.assets().contains { $0.wrappingKey != nil }) ?? true
    }
}

extension RequestFailure {
    /// A web client must not believe that what it sent in clear is encrypted now.
    package static func notSealed(_ field: String) -> RequestFailure {
        RequestFailure(
            .badRequest, "Invalid value, expected sealed data in encrypted field '\(field)'",
            remedy: "Encrypted fields are sealed on the user's devices; save them from an app there.")
    }

    /// Encrypted fields without the record's protection.
    package static let unprotected = RequestFailure(
        .badRequest, "encrypted fields came without the record's protection",
        remedy: "Encrypted fields are sealed on the user's devices; save them from an app there.")

    /// Keys beyond `Protection.keysBytesMax`.
    package static let protectionTooLarge = RequestFailure(
        .sizeLimitExceeded, "the keys of a record take more than \(Protection.keysBytesMax) bytes")

    /// Encrypted fields of another epoch than the record's.
    package static let otherKeyEpoch = RequestFailure(
        .badRequest, "encrypted fields are sealed for another key epoch than the record's",
        remedy: "Seal all encrypted fields of a record under the key of one epoch, the zone's.")

    /// Keys of the zone or record that have changed meanwhile.
    package static let staleKeyEpoch = RequestFailure(
        .staleKeyEpoch, "the keys of the zone or of the record have changed",
        remedy: "Fetch the zone and the record, seal all encrypted fields of the record again and save it.")

    /// B-ENC-01.
    static func notSealable(_ type: FieldType) -> RequestFailure {
        RequestFailure(
            .badRequest,
            type.base == .asset ? "assets cannot be encrypted fields" : "references cannot be encrypted fields",
            remedy: type.base == .asset
                ? "Save the asset in a field of its own; in private databases assets are encrypted anyway." : nil)
    }

    /// B-ENC-02.
    static let encryptedInPublic = RequestFailure(
        .badRequest, "encrypted fields are not supported in the public database",
        remedy: "Keep what must stay secret in the private database.")
}
