import CloudKitModel
import JSONBytes

extension Array where Element == RecordOutcome {
    /// Prints the answer of `records/modify` and `records/lookup`; items keep the order of the request.
    ///
    /// - Parameters:
    ///   - itemKeys: For each item the fields to print, nil for those of `style`.
    ///   - syncToken: The zone's token, for clients that request it (`getCurrentSyncToken`).
    package func wireAnswer(
        style: WireStyle, itemKeys: [[String]?] = [], syncToken: String? = nil
    ) -> [UInt8] {
        var printer = RecordPrinter(style: style)
        let capacity = reduce(256) { sum, outcome in
            if case .record(let record) = outcome { sum + RecordPrinter.capacity(for: record) } else { sum + 256 }
        }
        var writer = JSONWriter(capacity: capacity)
        writer.beginObject()
        writer.key("records")
        writer.beginArray()
        for (index, outcome) in enumerated() {
            if index < itemKeys.count, let keys = itemKeys[index] {
                var style = style
                style.desiredKeys = keys
                var printer = RecordPrinter(style: style)
                printer.write(outcome, to: &writer)
            } else {
                printer.write(outcome, to: &writer)
            }
        }
        writer.endArray()
        writer.pair("syncToken", syncToken)
        writer.endObject()
        return writer.bytes
    }

    /// Prints the answer to `request`, with the fields that it wants, an operation's own list first.
    package func wireAnswer(
        style: WireStyle, answering request: ModifyRecordsRequest, syncToken: String? = nil
    ) -> [UInt8] {
        let style = style.wanting(request.desiredKeys, numbersAsStrings: request.numbersAsStrings)
        return wireAnswer(
            style: style, itemKeys: request.operations.map(\.change.desiredKeys), syncToken: syncToken)
    }

    /// Prints the answer to `request`, with the fields that it wants, a record's own list first.
    package func wireAnswer(
        style: WireStyle, answering request: LookupRecordsRequest, syncToken: String? = nil
    ) -> [UInt8] {
        let style = style.wanting(request.desiredKeys, numbersAsStrings: request.numbersAsStrings)
        return wireAnswer(style: style, itemKeys: request.records.map(\.desiredKeys), syncToken: syncToken)
    }

    /// Reads the answer of `records/modify` or `records/lookup`.
    ///
    /// - Parameter zoneID: The zone that was asked; records that name none are in it.
    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8], zoneID: ZoneID) throws(RequestFailure) {
        self = try WireBody.answer(bytes) { reader in
            var outcomes: [RecordOutcome] = []
            try reader.object { reader, key in
                guard key == "records" else { return try reader.skipValue() }
                try reader.array { reader in
                    guard let outcome = try RecordAnswerItem(reading: &reader, zoneID: zoneID).outcome else {
                        throw RequestFailure.unreadableAnswer
                    }
                    outcomes.append(outcome)
                }
            }
            return outcomes
        }
    }
}

extension WireStyle {
    /// Returns the style with the options of a request; options that it leaves open stay.
    func wanting(_ keys: [String]?, numbersAsStrings: Bool) -> WireStyle {
        var style = self
        style.desiredKeys = keys ?? desiredKeys
        style.numbersAsStrings = numbersAsStrings || self.numbersAsStrings
        return style
    }
}
