import CloudKitModel
import JSONBytes

extension RereferenceAssetsRequest {
    /// Reads the body of `assets/rereference` (docs/web-services.md §7).
    ///
    /// - Throws: `badRequest`; `itemLimitExceeded`, `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: limits) { reader in
            var request = RereferenceAssetsRequest(items: [])
            try reader.object { reader, key in
                switch key {
                case "zoneID": request.zoneID = try reader.zoneIDIfAny() ?? .default
                case "targetZoneID": request.targetZoneID = try reader.zoneIDIfAny()
                case "assets": request.items = try reader.items(limits: limits) { try Item(reading: &$0) }
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
        writer.pair("targetZoneID", targetZoneID)
        writer.key("assets")
        writer.beginArray()
        for item in items {
            writer.beginObject()
            writer.pair("recordName", item.recordName)
            writer.pair("fieldName", item.fieldName)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}

extension RereferenceAssetsRequest.Item {
    fileprivate init(reading reader: inout JSONReader) throws {
        var recordName: String?
        var fieldName: String?
        try reader.object { reader, key in
            switch key {
            case "recordName": recordName = try reader.stringIfAny()
            case "fieldName": fieldName = try reader.stringIfAny()
            default: try reader.skipValue()
            }
        }
        guard let recordName else { throw RequestFailure.missing("recordName") }
        guard let fieldName else { throw RequestFailure.missing("fieldName") }
        self.init(recordName: recordName, fieldName: fieldName)
    }
}

extension Array where Element == RereferenceOutcome {
    /// Prints the answer of `assets/rereference`, in the order of the request.
    package func wireAnswer(style: WireStyle) -> [UInt8] {
        WireBody.list("assets", self) { outcome, writer in
            switch outcome {
            case .asset(let asset): writer.splice(asset.wireJSON)
            case .failed(let item, let failure):
                writer.beginObject()
                writer.pair("recordName", item.recordName)
                writer.pair("fieldName", item.fieldName)
                failure.writeKeys(to: &writer, style: style)
                writer.pair("uuid", style.requestUUID)
                writer.endObject()
            }
        }
    }

    /// Reads the answer of `assets/rereference`.
    ///
    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answerList("assets", bytes) { try RereferenceOutcome(reading: try $0.value()) }
    }
}

extension RereferenceOutcome {
    fileprivate init(reading value: JSONValue) throws {
        var reader = value.reader
        var item = RereferenceAssetsRequest.Item(recordName: "", fieldName: "")
        var error = ErrorKeys()
        try reader.object { reader, key in
            switch key {
            case "recordName": item.recordName = try reader.stringIfAny() ?? ""
            case "fieldName": item.fieldName = try reader.stringIfAny() ?? ""
            default: if try !error.read(key, &reader, zoneID: nil) { try reader.skipValue() }
            }
        }
        if let failure = error.failure {
            self = .failed(item, failure)
        } else {
            self = .asset(try AssetValue(value))
        }
    }
}
