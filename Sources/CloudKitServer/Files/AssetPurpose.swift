import CloudKitModel
import CloudKitRecordLayer

/// The field and record for which a file is, and the user who uploads it.
package struct AssetPurpose: Hashable, Sendable {
    /// The partition of the database.
    package var partition: StoragePartition
    /// The name of the zone.
    package var zoneName: String
    /// nil: any record of the zone, as for an asset that is used again.
    package var recordName: String?
    /// The type of the record; nil: any.
    package var recordType: String?
    /// The name of the field; nil: any.
    package var fieldName: String?
    /// The record name of the uploading user.
    package var user: String

    /// Returns whether a file for this purpose may become the value of a field.
    ///
    /// - Parameter recordType: nil where it is not known yet.
    func allows(_ other: AssetPurpose) -> Bool {
        func agrees(_ wanted: String?, _ given: String?) -> Bool { wanted == nil || given == nil || wanted == given }
        return partition == other.partition && zoneName == other.zoneName && user == other.user
            && agrees(recordName, other.recordName) && agrees(recordType, other.recordType)
            && agrees(fieldName, other.fieldName)
    }

    func write(to value: inout ValueWriter) {
        value.add(partition.name)
        value.add(zoneName)
        value.add(recordName)
        value.add(recordType)
        value.add(fieldName)
        value.add(user)
    }

    init(reading value: inout ValueReader) throws {
        partition = StoragePartition(try value.text())
        zoneName = try value.text()
        recordName = try value.optionalText()
        recordType = try value.optionalText()
        fieldName = try value.optionalText()
        user = try value.text()
    }

    /// Creates the purpose of a file.
    package init(
        partition: StoragePartition, zoneName: String, recordName: String?, recordType: String?, fieldName: String?,
        user: UserID?
    ) {
        self.partition = partition
        self.zoneName = zoneName
        self.recordName = recordName
        self.recordType = recordType
        self.fieldName = fieldName
        self.user = user?.recordName ?? ""
    }
}
