import CloudKitEncryption
import CloudKitModel
import Foundation

/// A field of assets on its way to the server.
struct AssetField: Sendable {
    var name: String
    var isList: Bool
    var assets: [CKAsset]

    /// nil: the value is no asset and no list of nothing but assets.
    init?(_ name: String, _ value: Any) {
        self.name = name
        switch value {
        case let asset as CKAsset:
            isList = false
            assets = [asset]
        case let list as NSArray:
            isList = true
            assets = list.compactMap { $0 as? CKAsset }
            guard !assets.isEmpty, assets.count == list.count else { return nil }
        default: return nil
        }
    }

    /// Each asset with its place in the record.
    var slots: [(AssetSlot, CKAsset)] {
        assets.enumerated().map { (AssetSlot(field: name, position: isList ? $0 : nil), $1) }
    }

}

/// A field of assets whose files the server has.
struct AssetFieldValue: Hashable, Sendable {
    struct Element: Hashable, Sendable {
        var value: AssetValue
        /// What the file is sealed with; nil: it is plain.
        var secret: AssetSecret?
    }

    var name: String
    var isList: Bool
    var elements: [Element]

    /// The field as a change sends it: each key sealed for its place.
    ///
    /// - Parameter sealer: Of the record; nil where nothing is sealed.
    /// - Throws: `EncryptionError`, `RequestFailure`.
    func field(sealedBy sealer: RecordSealer?) throws -> Field {
        let values = try elements.enumerated().map { position, element in
            var value = element.value.sent
            if let secret = element.secret, let sealer {
                let key = try sealer.seal(secret, field: name, position: isList ? position : nil)
                value.wrappingKey = Data(key).base64EncodedString()
            }
            return FieldValue.asset(value)
        }
        guard !isList, let single = values.first else { return try Field(name: name, value: .list(.asset, values)) }
        return try Field(name: name, value: single)
    }
}

/// The assets that a save of one record sends, and those that the server had of it before (B-AST-03).
struct RecordAssets: Sendable {
    var fields: [AssetField] = []
    /// As the app last fetched or saved them, with the bytes of the same file among them perhaps.
    var held: [KeptAsset] = []

    init() {}

    init(_ record: CKRecord, allKeys: Bool) {
        fields = record.assetFields(allKeys: allKeys)
        guard !fields.isEmpty else { return }
        held = record.fields.original.sorted { $0.key < $1.key }.flatMap { key, value in
            AssetField(key, value)?.assets.compactMap(\.lastKept) ?? []
        }
    }
}

extension RecordFields {
    /// The asset at a place.
    func asset(at slot: AssetSlot) -> CKAsset? {
        guard let position = slot.position else { return values[slot.field] as? CKAsset }
        guard let list = values[slot.field] as? NSArray, list.count > position else { return nil }
        return list[position] as? CKAsset
    }
}

extension OpenedRecord {
    /// An asset of this record, of a database that `address` names.
    func kept(_ value: AssetValue, at slot: AssetSlot, in address: DatabaseAddress? = nil) -> KeptAsset {
        let place = AssetPlace(address: address, record: record.id, recordType: record.recordType, slot: slot)
        return KeptAsset(value: value, place: place, secret: assetSecrets[slot])
    }

    /// The fields of assets that are not among these, as they are saved again under another key.
    func assetFields(without names: Set<String>) throws(RequestFailure) -> [AssetFieldValue] {
        var fields: [AssetFieldValue] = []
        for (slot, value) in try record.assets() where !names.contains(slot.field) {
            if fields.last?.name != slot.field {
                fields.append(AssetFieldValue(name: slot.field, isList: slot.position != nil, elements: []))
            }
            fields[fields.count - 1].elements.append(.init(value: value, secret: assetSecrets[slot]))
        }
        return fields
    }
}

extension Record {
    /// What the files of its assets are sealed with.
    ///
    /// Beside sealed values a file has a key, too: a cloud that puts a plain file in the place of a sealed one is found out
    /// where the record holds anything else that is sealed. A record without protection may hold files of web clients,
    /// which have no keys.
    ///
    /// - Throws: `EncryptionError`; `RequestFailure` for a field that cannot be read.
    func assetSecrets(_ sealer: RecordSealer) throws -> [AssetSlot: AssetSecret] {
        var secrets: [AssetSlot: AssetSecret] = [:]
        for (slot, value) in try assets() {
            guard let key = value.wrappingKey.flatMap({ Data(base64Encoded: $0) }) else {
                throw EncryptionError.malformed(.assetKey(field: slot.field), reason: "it is missing")
            }
            secrets[slot] = try sealer.openAsset(Array(key), field: slot.field, position: slot.position)
        }
        return secrets
    }

    /// Whether there are assets in it.
    var hasAssets: Bool { fields.contains { $0.type.base == .asset && !$0.type.isEncrypted } }

    /// The assets in the fields, each with its place.
    ///
    /// - Throws: `internalError` when a field cannot be read.
    func assets() throws(RequestFailure) -> [(slot: AssetSlot, value: AssetValue)] {
        var assets: [(AssetSlot, AssetValue)] = []
        for field in fields where field.type.base == .asset && !field.type.isEncrypted {
            switch try field.value() {
            case .asset(let value): assets.append((AssetSlot(field: field.name), value))
            case .list(_, let values):
                for case (let position, .asset(let value)) in values.enumerated() {
                    assets.append((AssetSlot(field: field.name, position: position), value))
                }
            default: break
            }
        }
        return assets
    }
}
