/// One `assets/upload` request: permission to upload files for fields of records (docs/web-services.md §7).
package struct AssetUploadRequest: Hashable, Sendable {
    package struct Item: Hashable, Sendable {
        package var recordType: String
        /// nil: the server makes a UUID, to be used in the save.
        package var recordName: String?
        package var fieldName: String

        package init(recordType: String, recordName: String? = nil, fieldName: String) {
            self.recordType = recordType
            self.recordName = recordName
            self.fieldName = fieldName
        }
    }

    package var items: [Item]
    package var zoneID: ZoneID

    package init(items: [Item], zoneID: ZoneID = .default) {
        self.items = items
        self.zoneID = zoneID
    }
}

/// Where to upload the file of one field.
package struct AssetUploadTicket: Hashable, Sendable {
    package var recordName: String
    package var fieldName: String
    /// Takes the file as one `POST`, or in pieces; good for 15 minutes.
    package var url: String

    package init(recordName: String, fieldName: String, url: String) {
        self.recordName = recordName
        self.fieldName = fieldName
        self.url = url
    }
}

/// One `assets/rereference` request: assets of records there are, to be used in other records without another upload.
package struct RereferenceAssetsRequest: Hashable, Sendable {
    package struct Item: Hashable, Sendable {
        package var recordName: String
        package var fieldName: String

        package init(recordName: String, fieldName: String) {
            self.recordName = recordName
            self.fieldName = fieldName
        }
    }

    package var items: [Item]
    /// The zone of the records that hold the assets.
    package var zoneID: ZoneID
    /// The zone of the records that will hold them; nil: the same.
    package var targetZoneID: ZoneID?

    package init(items: [Item], zoneID: ZoneID = .default, targetZoneID: ZoneID? = nil) {
        self.items = items
        self.zoneID = zoneID
        self.targetZoneID = targetZoneID
    }
}

/// What became of one asset of a `RereferenceAssetsRequest`.
package enum RereferenceOutcome: Hashable, Sendable {
    /// The asset with a receipt, to be used as a field's value.
    case asset(AssetValue)
    case failed(RereferenceAssetsRequest.Item, RequestFailure)
}
