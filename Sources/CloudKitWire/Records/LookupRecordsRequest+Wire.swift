import CloudKitModel
import JSONBytes

extension LookupRecordsRequest {
    /// Reads the body of `records/lookup` (docs/web-services.md §6.3).
    ///
    /// - Throws: `badRequest`; `itemLimitExceeded`, `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: limits) { reader in
            try LookupRecordsRequest(reading: &reader, limits: limits)
        }
    }

    private init(reading reader: inout JSONReader, limits: WireLimits) throws {
        self.init(records: [], zoneID: .default)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "records": records = try reader.items(limits: limits) { try Item(reading: &$0) }
            case "zoneID": zoneID = try reader.zoneIDIfAny() ?? .default
            case "desiredKeys": desiredKeys = try reader.stringsIfAny()
            case "numbersAsStrings", "numberAsStrings": numbersAsStrings = try reader.boolIfAny() ?? false
            default: try reader.skipValue()
            }
        }
    }

    /// Prints the body.
    package func wire() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("records")
        writer.beginArray()
        for record in records {
            writer.beginObject()
            writer.pair("recordName", record.recordName)
            writer.pair("desiredKeys", record.desiredKeys)
            writer.endObject()
        }
        writer.endArray()
        writer.pair("zoneID", zoneID)
        writer.pair("desiredKeys", desiredKeys)
        if numbersAsStrings { writer.pair("numbersAsStrings", true) }
        writer.endObject()
        return writer.bytes
    }
}

extension LookupRecordsRequest.Item {
    /// `{"recordName": …}`, or the bare name.
    fileprivate init(reading reader: inout JSONReader) throws {
        if try reader.peekKind() == .string {
            self.init(recordName: try reader.string())
            return
        }
        var recordName: String?
        var desiredKeys: [String]?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.stringIfAny()
            case "desiredKeys": desiredKeys = try reader.stringsIfAny()
            default: try reader.skipValue()
            }
        }
        guard let recordName else { throw RequestFailure.missing("recordName") }
        self.init(recordName: recordName, desiredKeys: desiredKeys)
    }
}
