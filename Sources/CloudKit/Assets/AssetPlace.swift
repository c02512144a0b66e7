import CloudKitEncryption
import CloudKitModel

/// Where in a record an asset stands.
struct AssetSlot: Hashable, Sendable {
    var field: String
    /// The place in a list, from 0; nil for a single value.
    var position: Int?
}

/// Where an asset stands in the world.
struct AssetPlace: Hashable, Sendable {
    /// nil: the database in which its record is used, which is all that an archive knows.
    var address: DatabaseAddress?
    var record: RecordID
    var recordType: String
    var slot: AssetSlot
}

/// An asset that the server holds, and where.
struct KeptAsset: Hashable, Sendable {
    var value: AssetValue
    var place: AssetPlace
    /// What its file is sealed with; nil: the file is plain.
    var secret: AssetSecret?
}

extension AssetValue {
    /// The asset as a change sends it: what the server needs to find the file, and nothing that ages.
    var sent: AssetValue {
        var value = self
        value.downloadURL = nil
        return value
    }
}
