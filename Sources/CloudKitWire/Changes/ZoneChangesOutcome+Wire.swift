import CloudKitModel
import JSONBytes

extension Array where Element == ZoneChangesOutcome {
    /// Prints the answer of `changes/zone`, each zone with the fields that its request wants.
    ///
    /// - Parameter requests: In the order of the outcomes; where there is none, `style` alone counts.
    package func wireAnswer(style: WireStyle, answering requests: [ZoneChangesRequest] = []) -> [UInt8] {
        let capacity = reduce(256) { sum, outcome in
            if case .page(let page) = outcome { sum + page.capacity } else { sum + 512 }
        }
        return WireBody.list("zones", enumerated(), capacity: capacity) { item, writer in
            let (index, outcome) = item
            let request = index < requests.count ? requests[index] : nil
            let style = style.wanting(
                request?.desiredKeys, numbersAsStrings: request?.numbersAsStrings ?? false)
            outcome.write(to: &writer, style: style)
        }
    }

    /// Reads the answer of `changes/zone`.
    ///
    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answerList("zones", bytes) { try ZoneChangesOutcome(reading: &$0) }
    }
}

extension ZoneChangesOutcome {
    fileprivate func write(to writer: inout JSONWriter, style: WireStyle) {
        writer.beginObject()
        writer.key("zoneID")
        switch self {
        case .page(let page):
            writer.zoneID(page.zoneID, style: style)
            page.writeKeys(to: &writer, style: style)
        case .failed(let zoneID, let failure):
            writer.zoneID(zoneID, style: style)
            failure.writeKeys(to: &writer, style: style)
            writer.pair("uuid", style.requestUUID)
        }
        writer.endObject()
    }

    fileprivate init(reading reader: inout JSONReader) throws {
        var zoneID = ZoneID.default
        var records: JSONValue?
        var page = ZoneChangesPage(zoneID: .default, events: [], syncToken: "", moreComing: false)
        var error = ErrorKeys()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try reader.readNull() { continue }
            switch key {
            case "zoneID": zoneID = try ZoneID(reading: &reader)
            // The zone, which records may leave out, can come after them.
            case "records": records = try reader.value()
            case "syncToken": page.syncToken = try reader.string()
            case "moreComing": page.moreComing = try reader.bool()
            case "clientChangeToken": page.clientChangeToken = try reader.base64IfAny()
            case "zoneStates": page.states = try ZoneStates(reading: &reader)
            default: if try !error.read(key, &reader, zoneID: zoneID) { try reader.skipValue() }
            }
        }
        if let failure = error.failure {
            self = .failed(zoneID, failure)
            return
        }
        page.zoneID = zoneID
        if var reader = records?.reader {
            try reader.array { page.events.append(try RecordChangeEvent(reading: &$0, zoneID: zoneID)) }
        }
        self = .page(page)
    }
}

extension RecordChangeEvent {
    fileprivate var capacity: Int {
        if case .changed(let record) = self { RecordPrinter.capacity(for: record) } else { 256 }
    }

    fileprivate init(reading reader: inout JSONReader, zoneID: ZoneID) throws {
        let item = try RecordAnswerItem(reading: &reader, zoneID: zoneID)
        if let tombstone = item.tombstone {
            self = .deleted(tombstone)
        } else if let record = item.record {
            self = .changed(record)
        } else {
            throw RequestFailure.unreadableAnswer
        }
    }
}

extension ZoneChangesPage {
    /// Prints the answer of the old `records/changes` (docs/web-services.md §8.5).
    package func legacyWireAnswer(style: WireStyle, answering request: ZoneChangesRequest? = nil) -> [UInt8] {
        let style = style.wanting(request?.desiredKeys, numbersAsStrings: request?.numbersAsStrings ?? false)
        var writer = JSONWriter(capacity: capacity)
        writer.beginObject()
        writeKeys(to: &writer, style: style)
        writer.endObject()
        return writer.bytes
    }

    fileprivate var capacity: Int { events.reduce(512) { $0 + $1.capacity } }

    /// Clients require both `syncToken` and `moreComing`, always (docs/web-services.md §8.3).
    fileprivate func writeKeys(to writer: inout JSONWriter, style: WireStyle) {
        var printer = RecordPrinter(style: style)
        writer.key("records")
        writer.beginArray()
        for event in events { printer.write(event, to: &writer) }
        writer.endArray()
        writer.pair("syncToken", syncToken)
        writer.pair("moreComing", moreComing)
        if style.isNative { writer.pair("clientChangeToken", base64: clientChangeToken) }
        if let states {
            writer.key("zoneStates")
            states.write(to: &writer)
        }
    }
}
