import CloudKitModel
import CloudKitRecordLayer

/// The protection of a record's sealed values after a save, or the reason for refusing it.
///
/// The server cannot open what it stores; these rules keep the parts of a record together: every value in sealed form, one
/// record, one key, one epoch.
package enum ProtectionDecision: Hashable, Sendable {
    case store(Protection?)
    case refuse(RequestFailure)

    /// Checked in this order: form of the values, protection sent with them, its size, the zone's epoch, the values'
    /// epoch, that a record whose key changes was sealed again as a whole, by a device that knows the present one, and
    /// that a new statement came with the save where one is due, made from the one that the record has.
    ///
    /// - Parameters:
    ///   - set: The fields of the save as the schema has them.
    ///   - merged: All fields of the record after it.
    ///   - sent: The protection that came with the save; nil: none.
    ///   - held: The record's own; nil: none, or no record.
    ///   - zoneEpoch: The epoch under which values have to be sealed now.
    ///   - checksTag: Whether the save is of the version that the cloud holds.
    ///   - changesStated: Whether the save changes anything that a statement is about.
    ///   - created: The record's creation in milliseconds since 1970; nil: the save creates it.
    ///   - deleted: The statement that a record of this name had when it was deleted; nil: there is none.
    package init(
        set: [Field], merged: [Field], sent: Protection?, held: Protection?, zoneEpoch: UInt32, checksTag: Bool,
        changesStated: Bool, created: Int64?, deleted: LastStatement? = nil
    ) {
        do throws(RequestFailure) {
            let protection = try Self.evaluate(
                set, merged: merged, sent: sent, held: held, zoneEpoch: zoneEpoch, checksTag: checksTag)
            try Self.checkStatement(sent, held: held, isDue: changesStated, created: created, deleted: deleted)
            self = .store(protection)
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
        guard sent.keys.count <= Protection.keysBytesMax, sent.statement.count <= Protection.statementBytesMax else {
            throw .protectionTooLarge
        }
        guard epochs.isSubset(of: [sent.epoch]) else { throw .otherKeyEpoch }
        // A later epoch than the zone's is of a state that is lost, if it ever was the zone's: the device learns it when it looks at the zone.
        guard sent.epoch == zoneEpoch else { throw .staleKeyEpoch }
        if !sent.hasSameKeys(as: held) {
            if !isResealed(merged, by: set) { throw .staleKeyEpoch }
            // A save that overwrites any stored version may not know for whom the record's key was wrapped since.
            if held != nil, !checksTag { throw .staleKeyEpoch }
        }
        return sent
    }

    /// Checks that a record with a statement gets a new one with each change of what it states, and keeps one otherwise:
    /// devices refuse a record that differs from its statement.
    ///
    /// - Parameters:
    ///   - isDue: Whether the save changes something that statements are about.
    ///   - created: The record's creation; nil: the save creates it.
    ///   - deleted: The last statement of a deleted record of this name; nil: there is none.
    private static func checkStatement(
        _ sent: Protection?, held: Protection?, isDue: Bool, created: Int64?, deleted: LastStatement?
    ) throws(RequestFailure) {
        let (old, new) = (held?.statement ?? [], sent?.statement ?? [])
        guard !new.isEmpty else {
            // Without a statement so far, a move or a plain file needs none.
            if isDue, !old.isEmpty || sent != nil { throw .unstated }
            if sent != nil, !old.isEmpty { throw .unstated }
            return
        }
        guard StatementForm.isValid(new) else { throw .malformedStatement }
        if new == old { if isDue { throw .unstated } else { return } }
        let present = old.isEmpty ? StatementForm.noTag[...] : StatementForm.tag(of: old)
        guard StatementForm.previousTag(of: new) == present else { throw .staleRecordStatement }
        // A record that was deleted, and perhaps created again, is not the one that the device knew.
        if let stated = StatementForm.created(of: new), stated != created { throw .staleRecordStatement }
        // A save that arrives twice, with a deletion in between: the deleted version would be there again, which devices take for a lie.
        if let deleted, StatementForm.tag(of: new) == deleted.tag[...] { throw .staleRecordStatement }
        // Made by a device whose clock is behind: to devices that have seen the deleted record, it would be an older version of that.
        if let last = deleted?.version, StatementForm.recordVersion(of: new) <= last {
            throw .staleRecordStatement(after: last)
        }
    }

    /// Returns whether this save brings every sealed value and every key of a file that the record will have.
    private static func isResealed(_ merged: [Field], by set: [Field]) -> Bool {
        let names = Set(set.lazy.map(\.name))
        return merged.allSatisfy { !holdsKeys($0) || names.contains($0.name) }
    }

    /// Returns whether a field holds keys. Those of files are sealed under the record's key, as encrypted values are.
    static func holdsKeys(_ field: Field) -> Bool {
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

    /// Keys beyond `Protection.keysBytesMax`, or a statement beyond `Protection.statementBytesMax`.
    package static let protectionTooLarge = RequestFailure(
        .sizeLimitExceeded,
        "the keys of a record take more than \(Protection.keysBytesMax) bytes, or its statement more than "
            + "\(Protection.statementBytesMax)")

    /// A change of what a record's statement is about, without a new statement.
    package static let unstated = RequestFailure(
        .badRequest,
        "encrypted fields, files or the parent of a protected record changed without a new statement of it",
        remedy: "Save them from an app on one of the user's devices; other fields can be changed without keys.")

    /// Bytes that are no statement.
    package static let malformedStatement = RequestFailure(
        .badRequest, "Invalid value, expected the statement of a record",
        remedy: "Statements are made on the user's devices; save the record from an app there.")

    /// A statement that was made from another version of the record than the one that the cloud holds.
    package static let staleRecordStatement = RequestFailure(
        .staleRecordStatement, "the record's encrypted values have changed",
        remedy: "Fetch the record, make a statement from its present one and save it again.")

    /// A first statement whose version is not above those of earlier records of the name, `version` at most.
    package static func staleRecordStatement(after version: UInt64) -> RequestFailure {
        var failure = RequestFailure(
            .staleRecordStatement, "earlier records of this name had versions up to \(version)",
            remedy: "Make a statement with a higher version and save the record again.")
        failure.lastVersion = version
        return failure
    }

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
