import CloudKitEncryption
import CloudKitModel

/// The position of an asset in a record.
package struct AssetSlot: Hashable, Sendable {
    /// The name of the field.
    package var field: String
    /// The place in a list, from 0; nil for a single value.
    package var position: Int?

    /// Creates the position of a single value, or of an element of a list.
    package init(field: String, position: Int? = nil) {
        self.field = field
        self.position = position
    }
}

/// The position of an asset in a database.
package struct AssetLocation: Hashable, Sendable {
    /// nil: the database in which its record is used, which is all that an archive knows.
    package var address: DatabaseAddress?
    /// The identifier of the record.
    package var record: RecordID
    /// The name of the record's type.
    package var recordType: String
    /// The position in the record.
    package var slot: AssetSlot

    /// Creates the position of an asset in a record of a database.
    package init(address: DatabaseAddress? = nil, record: RecordID, recordType: String, slot: AssetSlot) {
        self.address = address
        self.record = record
        self.recordType = recordType
        self.slot = slot
    }
}

/// An asset that the server holds, and where.
package struct UploadedAsset: Hashable, Sendable {
    /// The asset as the server last sent it.
    package var value: AssetValue
    /// The position of the asset.
    package var place: AssetLocation
    /// The key that seals the file; nil: the file is plain.
    package var secret: AssetSecret?

    /// Creates an uploaded asset with the key of its file.
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
