import CloudKitModel
import JSONBytes

extension QueryPage {
    /// Prints the answer of `records/query`.
    ///
    /// - Parameter syncToken: The zone's token, for clients that request it (`getCurrentSyncToken`).
    package func wireAnswer(
        style: WireStyle, answering request: QueryRecordsRequest? = nil, syncToken: String? = nil
    ) -> [UInt8] {
        var printer = RecordPrinter(
            style: style.wanting(request?.desiredKeys, numbersAsStrings: request?.numbersAsStrings ?? false))
        var writer = JSONWriter(
            capacity: records.reduce(256) { $0 + RecordPrinter.capacity(for: $1) })
        writer.beginObject()
        writer.key("records")
        writer.beginArray()
        for record in records { printer.write(record, to: &writer) }
        writer.endArray()
        writer.pair("continuationMarker", continuationMarker)
        writer.pair("syncToken", syncToken)
        writer.endObject()
        return writer.bytes
    }

    /// Reads the answer of `records/query`.
    ///
    /// - Parameter zoneID: The zone of records that name none.
    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8], zoneID: ZoneID) throws(RequestFailure) {
        self = try WireBody.answer(bytes) { reader in
            var page = QueryPage(records: [])
            try reader.object { reader, key in
                switch key {
                case "records": try reader.array { page.records.append(try Record(reading: &$0, zoneID: zoneID)) }
                case "continuationMarker": page.continuationMarker = try reader.stringIfAny()
                default: try reader.skipValue()
                }
            }
            return page
        }
    }
}
