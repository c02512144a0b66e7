import CloudKitModel

extension OpenedRecord {
    /// An asset of this record, of a database that `address` names.
    package func kept(_ value: AssetValue, at slot: AssetSlot, in address: DatabaseAddress? = nil) -> UploadedAsset {
        let place = AssetLocation(address: address, record: record.id, recordType: record.recordType, slot: slot)
        return UploadedAsset(value: value, place: place, secret: assetSecrets[slot])
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
