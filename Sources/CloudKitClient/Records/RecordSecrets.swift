import CloudKitEncryption
import CloudKitModel

/// The values of a save that have to be sealed before they leave the device, separate from those that are sent as they
/// are, so that a plain value cannot be sent by mistake.
package struct RecordSecrets: Hashable, Sendable {
    /// Encrypted fields to set, with their plain values and types.
    package var fields: [Field]
    /// Fields of assets, whose keys are sealed.
    var assets: [AssetFieldValue] = []
    /// The name of the record's type.
    package var recordType: String
    /// The record's parent after the save, whose key opens this record's; and whether the save changes it.
    package var parent: String?
    /// The share of which the record is the root, as the cloud said; one that the save begins is not there yet.
    package var share: String?
    var isMoved: Bool
    /// The record's protection as this device last saw it.
    package var held: Protection?
    /// A Boolean value that indicates whether this device compared the record with the statement in `held`.
    var isHeldChecked: Bool
    /// The record's creation as this device last saw it; nil: it is not known.
    var created: Stamp?

    /// Creates the values of one save that have to be sealed.
    package init(
        fields: [Field], recordType: String, parent: String? = nil, share: String? = nil, isMoved: Bool,
        held: Protection? = nil, isHeldChecked: Bool = true, created: Stamp? = nil
    ) {
        self.fields = fields
        self.recordType = recordType
        self.parent = parent
        self.share = share
        self.isMoved = isMoved
        self.held = held
        self.isHeldChecked = isHeldChecked
        self.created = created
    }

    /// A Boolean value that indicates whether the save needs keys; a record with a parent and nothing to seal only
    /// benefits from its wrap.
    var needsKeys: Bool { !fields.isEmpty || assets.contains { $0.elements.contains { $0.secret != nil } } }

    /// Returns the operation with its values sealed, and with a statement of the record's version that it makes.
    ///
    /// - Parameters:
    ///   - current: The record as the cloud holds it, fetched because it holds more than this device knew.
    ///     Where the record gets another key, all its values are sealed again, and only if no other device changed them
    ///     meanwhile.
    ///   - firstVersion: The version of a record that has no statement yet.
    ///   - renumberedUntil: A record up to this version gets `firstVersion` next, too.
    func sealed(
        _ operation: RecordOperation, name: String, with keys: inout ZoneKeys, current: OpenedRecord?,
        firstVersion: UInt64, renumberedUntil: UInt64 = 0
    ) throws(CallFailure) -> RecordOperation {
        do {
            var operation = operation
            let known = current.map(\.record.protection) ?? held
            let parent = operation.change.parent == .keep ? current.map(\.record.parent) ?? parent : parent
            let cipher = try keys.cipher(
                sealing: name, recordType: recordType, parent: parent, isMoved: isMoved, held: known)
            var plain = fields
            var assets = assets
            if let current, !cipher.protection.hasSameKeys(as: current.record.protection) {
                let named = Set(fields.map(\.name) + assets.map(\.name) + operation.change.fields.map(\.name))
                plain += try current.values.get().filter { !named.contains($0.name) }
                assets += try current.assetFields(without: named)
                if operation.kind == .forceUpdate {
                    operation.kind = .update
                    operation.change.changeTag = current.record.changeTag
                }
            }
            // A nonce for each value, and one for the statement.
            let random = Randomness.system.drawing(ahead: 12 * (plain.count + 1))
            var values: [RecordStatement.Value] = []
            values.reserveCapacity(plain.count)
            for field in plain {
                let (field, value) = try cipher.sealStated(field, random: random)
                operation.change.fields.append(.set(field))
                values.append(value)
            }
            for field in assets {
                let field = try field.field(sealedBy: cipher.sealer)
                operation.change.fields.append(.set(field))
                if let value = try field.statedValue() { values.append(value) }
            }
            operation.change.fields.sort { $0.name < $1.name }
            let base = try base(known, cipher, operation, current: current)
            let facts = RecordStatement.Facts(
                parent: parent, created: current.map(\.record.created) ?? created, user: keys.access.user)
            operation.change.protection = try cipher.protection(
                after: base, firstVersion: firstVersion, renumberedUntil: renumberedUntil, setting: values,
                in: operation, facts: facts, random: random)
            return operation
        } catch let error as EncryptionError {
            // A save without values to seal succeeds also while it waits for a key; the record gets its key with the
            // first value.
            if !needsKeys, held == nil, current == nil, case .noKey = error { return operation }
            throw keys.failure(error, record: name)
        } catch {
            throw CallFailure(error)
        }
    }

    /// Returns the statement from which the save makes its own; nil: the record has none.
    ///
    /// - Throws: For one that this device did not check, while the save takes values from it: the record has to be fetched.
    private func base(
        _ known: Protection?, _ cipher: RecordCipher, _ operation: RecordOperation, current: OpenedRecord?
    ) throws -> RecordStatement? {
        guard let known, !known.statement.isEmpty else { return nil }
        let base = try RecordStatement(known.statement)
        if let current {
            _ = try current.values.get()
            return base
        }
        let named = Set(operation.change.fields.map(\.name))
        let isWhole = base.values.allSatisfy { named.contains($0.name) }
        guard isWhole || isHeldChecked && known.epoch == cipher.protection.epoch else {
            throw EncryptionError.notAsStated(.unchecked)
        }
        return base
    }
}

extension RecordCipher {
    /// Returns the protection with the statement of the version that an operation makes.
    ///
    /// - Parameters:
    ///   - base: The statement of the version that it is made from; nil: none.
    ///   - renumberedUntil: After a base up to this version, `firstVersion` is the lowest one.
    ///   - values: The sealed values that it sets.
    fileprivate func protection(
        after base: RecordStatement?, firstVersion: UInt64, renumberedUntil: UInt64,
        setting values: [RecordStatement.Value], in operation: RecordOperation, facts: RecordStatement.Facts,
        random: Randomness
    ) throws(EncryptionError) -> Protection {
        var protection = protection
        protection.statement = []
        if base == nil, values.isEmpty { return protection }
        var stated = values
        if let base, !operation.kind.replacesFields {
            let named = Set(operation.change.fields.map(\.name))
            stated += base.values.filter { !named.contains($0.name) }
        }
        let version =
            base.map { $0.version <= renumberedUntil ? max($0.version + 1, firstVersion) : $0.version + 1 }
            ?? firstVersion
        protection.statement = try RecordStatement(
            after: base, version: version, values: stated, facts: facts, sealer: sealer, random: random
        ).bytes
        return protection
    }
}

extension RecordOperation.Kind {
    /// A Boolean value that indicates whether fields that the operation does not set are removed.
    fileprivate var replacesFields: Bool { self == .replace || self == .forceReplace }
}
