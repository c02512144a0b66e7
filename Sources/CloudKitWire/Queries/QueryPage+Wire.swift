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
        for (name, failure) in failures.sorted(by: { $0.key < $1.key }) {
            printer.write(.failed(recordName: name, failure), to: &writer)
        }
        writer.endArray()
        writer.pair("continuationMarker", marker(style: style, answering: request))
        writer.pair("syncToken", syncToken)
        writer.endObject()
        return writer.bytes
    }

    /// Clients of web services may send a marker without its query; our own SDK repeats the query.
    private func marker(style: WireStyle, answering request: QueryRecordsRequest?) -> String? {
        guard let continuationMarker, let request, !style.isNative else { return continuationMarker }
        return WebQueryMarker(continuationMarker, of: request).text
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
                case "records":
                    try reader.array { reader in
                        switch try RecordAnswerItem(reading: &reader, zoneID: zoneID).outcome {
                        case .record(let record): page.records.append(record)
                        case .failed(let name, let failure): page.failures[name] = failure
                        case .deleted, nil: throw RequestFailure.unreadableAnswer
                        }
                    }
                case "continuationMarker": page.continuationMarker = try reader.stringIfAny()
                default: try reader.skipValue()
                }
            }
            return page
        }
    }
}
