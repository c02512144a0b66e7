import CloudKitEncryption
import CloudKitModel

/// The position of an asset in a record.
package struct AssetSlot: Hashable, Sendable {
    package var field: String
    /// The place in a list, from 0; nil for a single value.
    package var position: Int?

    package init(field: String, position: Int? = nil) {
        self.field = field
        self.position = position
    }
}

/// The position of an asset in a database.
package struct AssetLocation: Hashable, Sendable {
    /// nil: the database in which its record is used, which is all that an archive knows.
    package var address: DatabaseAddress?
    package var record: RecordID
    package var recordType: String
    package var slot: AssetSlot

    package init(address: DatabaseAddress? = nil, record: RecordID, recordType: String, slot: AssetSlot) {
        self.address = address
        self.record = record
        self.recordType = recordType
        self.slot = slot
    }
}

/// An asset that the server holds, and where.
package struct UploadedAsset: Hashable, Sendable {
    package var value: AssetValue
    package var place: AssetLocation
    /// The key that seals the file; nil: the file is plain.
    package var secret: AssetSecret?

    package init(value: AssetValue, place: AssetLocation, secret: AssetSecret? = nil) {
        self.value = value
        self.place = place
        self.secret = secret
    }
}

extension AssetValue {
    /// The asset as a change sends it: what the server needs to find the file, without values that expire.
    package var sent: AssetValue {
        var value = self
        value.downloadURL = nil
        return value
    }
}
