import CloudKitModel
import JSONBytes

extension DatabaseChangesRequest {
    /// Reads the body of `changes/database` (docs/web-services.md §8.4).
    ///
    /// - Throws: `badRequest`; `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: limits) { reader in
            var request = DatabaseChangesRequest()
            try reader.object { reader, key in
                switch key {
                case "syncToken": request.syncToken = try reader.stringIfAny()
                case "resultsLimit": request.resultsLimit = try reader.intIfAny()
                default: try reader.skipValue()
                }
            }
            return request
        }
    }

    /// Reads the body of the old `zones/changes`: its token is `metaSyncToken`, a `syncToken` is skipped.
    ///
    /// - Throws: `badRequest`; `sizeLimitExceeded` beyond `limits`.
    package init(legacyWire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: limits) { reader in
            var request = DatabaseChangesRequest()
            try reader.object { reader, key in
                switch key {
                case "metaSyncToken": request.syncToken = try reader.stringIfAny()
                case "resultsLimit": request.resultsLimit = try reader.intIfAny()
                default: try reader.skipValue()
                }
            }
            return request
        }
    }

    /// Prints the body of `changes/database`.
    package func wire() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.pair("syncToken", syncToken)
        writer.pair("resultsLimit", resultsLimit.map(Int64.init))
        writer.endObject()
        return writer.bytes
    }
}

extension DatabaseChangesPage {
    /// Prints the answer of `changes/database`.
    package func wireAnswer(style: WireStyle) -> [UInt8] { answer(style: style, tokenKey: "syncToken") }

    /// Prints the answer of the old `zones/changes`.
    package func legacyWireAnswer(style: WireStyle) -> [UInt8] { answer(style: style, tokenKey: "metaSyncToken") }

    private func answer(style: WireStyle, tokenKey: StaticString) -> [UInt8] {
        var writer = JSONWriter(capacity: 128 + events.count * 160)
        writer.beginObject()
        writer.key("zones")
        writer.beginArray()
        for event in events { event.write(to: &writer, style: style) }
        writer.endArray()
        writer.pair(tokenKey, syncToken)
        writer.pair("moreComing", moreComing)
        writer.endObject()
        return writer.bytes
    }

    /// Reads the answer of `changes/database`.
    ///
    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answer(bytes) { reader in
            var page = DatabaseChangesPage(events: [], syncToken: "", moreComing: false)
            try reader.object { reader, key in
                switch key {
                case "zones": try reader.array { page.events.append(try ZoneChangeEvent(reading: &$0)) }
                case "syncToken": page.syncToken = try reader.stringIfAny() ?? ""
                case "moreComing": page.moreComing = try reader.boolIfAny() ?? false
                default: try reader.skipValue()
                }
            }
            return page
        }
    }
}

extension ZoneChangeEvent {
    fileprivate func write(to writer: inout JSONWriter, style: WireStyle) {
        writer.beginObject()
        writer.key("zoneID")
        switch self {
        case .changed(let zoneID, let syncToken):
            writer.zoneID(zoneID, style: style)
            writer.pair("syncToken", syncToken)
        case .deleted(let zoneID, let reason):
            writer.zoneID(zoneID, style: style)
            writer.pair("deleted", true)
            if style.isNative { writer.pair("reason", reason.rawValue) }
        }
        writer.endObject()
    }

    fileprivate init(reading reader: inout JSONReader) throws {
        var zoneID: ZoneID?
        var syncToken = ""
        var isDeleted = false
        var reason = ZoneDeletionReason.deleted
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try reader.readNull() { continue }
            switch key {
            case "zoneID": zoneID = try ZoneID(reading: &reader)
            case "syncToken": syncToken = try reader.string()
            case "deleted": isDeleted = try reader.bool()
            case "reason": reason = ZoneDeletionReason(rawValue: try reader.string()) ?? .deleted
            default: try reader.skipValue()
            }
        }
        guard let zoneID else { throw RequestFailure.unreadableAnswer }
        self = isDeleted ? .deleted(zoneID, reason) : .changed(zoneID, syncToken: syncToken)
    }
}
