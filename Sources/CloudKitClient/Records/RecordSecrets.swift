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

    /// Creates the values of one save that have to be sealed.
    package init(
        fields: [Field], recordType: String, parent: String? = nil,
        share: String? = nil, isMoved: Bool, held: Protection? = nil
    ) {
        self.fields = fields
        self.recordType = recordType
        self.parent = parent
        self.share = share
        self.isMoved = isMoved
        self.held = held
    }

    /// A Boolean value that indicates whether the save needs keys; a record with a parent and nothing to seal only
    /// benefits from its wrap.
    var needsKeys: Bool { !fields.isEmpty || assets.contains { $0.elements.contains { $0.secret != nil } } }

    /// Returns the operation with its values sealed.
    ///
    /// - Parameter current: The record as the cloud holds it, fetched because it holds more than this device knew.
    ///   Where the record gets another key, all its values are sealed again, and only if no other device changed them
    ///   meanwhile.
    func sealed(
        _ operation: RecordOperation, name: String, with keys: inout ZoneKeys, current: OpenedRecord?
    ) throws(CallFailure) -> RecordOperation {
        do {
            let cipher = try keys.cipher(
                sealing: name, recordType: recordType, parent: parent, isMoved: isMoved,
                held: current.map(\.record.protection) ?? held)
            var operation = operation
            var plain = fields
            var assets = assets
            if let current, current.record.protection != cipher.protection {
                let named = Set(fields.map(\.name) + assets.map(\.name) + operation.change.fields.map(\.name))
                plain += try current.values.get().filter { !named.contains($0.name) }
                assets += try current.assetFields(without: named)
                if operation.kind == .forceUpdate {
                    operation.kind = .update
                    operation.change.changeTag = current.record.changeTag
                }
            }
            for field in plain { operation.change.fields.append(.set(try cipher.seal(field))) }
            for field in assets { operation.change.fields.append(.set(try field.field(sealedBy: cipher.sealer))) }
            operation.change.fields.sort { $0.name < $1.name }
            operation.change.protection = cipher.protection
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
}
