import CloudKitModel
import JSONBytes

extension ImportAssetRequest {
    /// Reads the body of `assets/import` (docs/web-services.md §7).
    ///
    /// - Throws: `badRequest`; `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: limits) { reader in
            var request = ImportAssetRequest(
                item: AssetUploadRequest.Item(recordType: "", fieldName: ""), downloadURL: "")
            try reader.object { reader, key in
                if try reader.readNull() { return }
                switch key {
                case "zoneID": request.zoneID = try reader.zoneIDIfAny() ?? .default
                case "recordType": request.item.recordType = try reader.string()
                case "recordName": request.item.recordName = try reader.string()
                case "fieldName": request.item.fieldName = try reader.string()
                case "downloadURL": request.downloadURL = try reader.string()
                default: try reader.skipValue()
                }
            }
            guard !request.item.recordType.isEmpty else { throw RequestFailure.missing("recordType") }
            guard !request.item.fieldName.isEmpty else { throw RequestFailure.missing("fieldName") }
            guard !request.downloadURL.isEmpty else { throw RequestFailure.missing("downloadURL") }
            return request
        }
    }

    /// Prints the body.
    package func wire() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.pair("zoneID", zoneID)
        writer.pair("recordType", item.recordType)
        writer.pair("recordName", item.recordName)
        writer.pair("fieldName", item.fieldName)
        writer.pair("downloadURL", downloadURL)
        writer.endObject()
        return writer.bytes
    }
}
