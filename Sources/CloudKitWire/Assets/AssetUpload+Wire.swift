import CloudKitModel
import JSONBytes

extension AssetUploadRequest {
    /// Reads the body of `assets/upload` (docs/web-services.md §7).
    ///
    /// - Throws: `badRequest`; `itemLimitExceeded`, `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: limits) { reader in
            var request = AssetUploadRequest(items: [])
            try reader.object { reader, key in
                switch key {
                case "zoneID": request.zoneID = try reader.zoneIDIfAny() ?? .default
                case "tokens": request.items = try reader.items(limits: limits) { try Item(reading: &$0) }
                default: try reader.skipValue()
                }
            }
            return request
        }
    }

    /// Prints the body.
    package func wire() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.pair("zoneID", zoneID)
        writer.key("tokens")
        writer.beginArray()
        for item in items {
            writer.beginObject()
            writer.pair("recordType", item.recordType)
            writer.pair("recordName", item.recordName)
            writer.pair("fieldName", item.fieldName)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}

extension AssetUploadRequest.Item {
    fileprivate init(reading reader: inout JSONReader) throws {
        var recordType: String?
        var recordName: String?
        var fieldName: String?
        try reader.object { reader, key in
            switch key {
            case "recordType": recordType = try reader.stringIfAny()
            case "recordName": recordName = try reader.stringIfAny()
            case "fieldName": fieldName = try reader.stringIfAny()
            default: try reader.skipValue()
            }
        }
        guard let recordType else { throw RequestFailure.missing("recordType") }
        guard let fieldName else { throw RequestFailure.missing("fieldName") }
        self.init(recordType: recordType, recordName: recordName, fieldName: fieldName)
    }
}

extension Array where Element == AssetUploadTarget {
    /// Prints the answer of `assets/upload`, in the order of the request.
    package func wireAnswer() -> [UInt8] {
        WireBody.list("tokens", self, capacity: 64 + 512 * count) { ticket, writer in
            writer.object { writer in
                writer.pair("recordName", ticket.recordName)
                writer.pair("fieldName", ticket.fieldName)
                writer.pair("url", ticket.url)
            }
        }
    }

    /// Reads the answer of `assets/upload`.
    ///
    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answerList("tokens", bytes) { try AssetUploadTarget(reading: &$0) }
    }
}

extension AssetUploadTarget {
    fileprivate init(reading reader: inout JSONReader) throws {
        var recordName: String?
        var fieldName: String?
        var url: String?
        try reader.object { reader, key in
            switch key {
            case "recordName": recordName = try reader.stringIfAny()
            case "fieldName": fieldName = try reader.stringIfAny()
            case "url": url = try reader.stringIfAny()
            default: try reader.skipValue()
            }
        }
        guard let recordName, let fieldName, let url else { throw RequestFailure.unreadableAnswer }
        self.init(recordName: recordName, fieldName: fieldName, url: url)
    }
}

extension AssetValue {
    /// Prints what answers a completed upload: `{"singleFile": {…}}`.
    package func wireUploadAnswer() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("singleFile")
        writer.splice(wireJSON)
        writer.endObject()
        return writer.bytes
    }

    /// Reads what answers a completed upload.
    ///
    /// - Throws: `internalError` if it cannot be read.
    package init(wireUploadAnswer bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answer(bytes) { reader in
            var asset: AssetValue?
            try reader.object { reader, key in
                guard key == "singleFile" else { return try reader.skipValue() }
                asset = try AssetValue(try reader.value())
            }
            guard let asset else { throw RequestFailure.unreadableAnswer }
            return asset
        }
    }

    /// The dictionary of docs/web-services.md §7.
    var wireJSON: [UInt8] {
        var json: [UInt8] = []
        append(to: &json)
        return json
    }
}
