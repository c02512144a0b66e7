/// One `assets/upload` request: permission to upload files for fields of records (docs/web-services.md §7).
package struct AssetUploadRequest: Hashable, Sendable {
    /// One field that a file is uploaded for.
    package struct Item: Hashable, Sendable {
        /// The record type.
        package var recordType: String
        /// nil: the server makes a UUID, to be used in the save.
        package var recordName: String?
        /// The name of the field.
        package var fieldName: String

        /// Creates a value with the given properties.
        package init(recordType: String, recordName: String? = nil, fieldName: String) {
            self.recordType = recordType
            self.recordName = recordName
            self.fieldName = fieldName
        }
    }

    /// The fields to upload files for.
    package var items: [Item]
    /// The zone of the records.
    package var zoneID: ZoneID

    /// Creates a value with the given properties.
    package init(items: [Item], zoneID: ZoneID = .default) {
        self.items = items
        self.zoneID = zoneID
    }
}

/// The address to which the file of one field is uploaded.
package struct AssetUploadTarget: Hashable, Sendable {
    /// The name of the record.
    package var recordName: String
    /// The name of the field.
    package var fieldName: String
    /// Takes the file as one `POST`, or in pieces; good for 15 minutes.
    package var url: String

    /// Creates a value with the given properties.
    package init(recordName: String, fieldName: String, url: String) {
        self.recordName = recordName
        self.fieldName = fieldName
        self.url = url
    }
}

/// One `assets/import` request: the copy of a file of the same account, perhaps of another container, for a field of a record.
package struct ImportAssetRequest: Hashable, Sendable {
    /// The field that will hold the asset.
    package var item: AssetUploadRequest.Item
    /// The zone of the record.
    package var zoneID: ZoneID
    /// The URL from which the asset can be downloaded.
    package var downloadURL: String

    /// Creates a request.
    package init(item: AssetUploadRequest.Item, zoneID: ZoneID = .default, downloadURL: String) {
        self.item = item
        self.zoneID = zoneID
        self.downloadURL = downloadURL
    }
}

/// One `assets/rereference` request: assets of records there are, to be used in other records without another upload.
package struct RereferenceAssetsRequest: Hashable, Sendable {
    /// One asset of a record that exists.
    package struct Item: Hashable, Sendable {
        /// The name of the record.
        package var recordName: String
        /// The name of the field.
        package var fieldName: String

        /// Creates a value with the given properties.
        package init(recordName: String, fieldName: String) {
            self.recordName = recordName
            self.fieldName = fieldName
        }
    }

    /// The assets.
    package var items: [Item]
    /// The zone of the records that hold the assets.
    package var zoneID: ZoneID
    /// The zone of the records that will hold them; nil: the same.
    package var targetZoneID: ZoneID?

    /// Creates a value with the given properties.
    package init(items: [Item], zoneID: ZoneID = .default, targetZoneID: ZoneID? = nil) {
        self.items = items
        self.zoneID = zoneID
        self.targetZoneID = targetZoneID
    }
}

/// The outcome of one asset of a `RereferenceAssetsRequest`.
package enum RereferenceOutcome: Hashable, Sendable {
    /// The asset with a receipt, to be used as a field's value.
    case asset(AssetValue)
    case failed(RereferenceAssetsRequest.Item, RequestFailure)
}
