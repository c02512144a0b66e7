import CloudKitModel
import JSONBytes

extension Array where Element == ZoneOutcome {
    /// Prints the answer of `zones/list`, `zones/lookup` and `zones/modify`; items keep the order of the request.
    package func wireAnswer(style: WireStyle) -> [UInt8] {
        WireBody.list("zones", self, capacity: 64 + count * 160) { $0.write(to: &$1, style: style) }
    }

    /// Reads the answer of `zones/list`, `zones/lookup` or `zones/modify`.
    ///
    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answerList("zones", bytes) { try ZoneOutcome(reading: &$0) }
    }
}

extension ZoneOutcome {
    fileprivate func write(to writer: inout JSONWriter, style: WireStyle) {
        writer.beginObject()
        writer.key("zoneID")
        switch self {
        case .zone(let zone):
            writer.zoneID(zone.id, style: style)
            writer.pair("syncToken", zone.syncToken)
            writer.pair("atomic", zone.capabilities.contains(.atomic))
            writer.encryptionScope(zone.encryptionScope)
            if style.isNative {
                writer.pair("capabilities", Int64(clamping: zone.capabilities.rawValue))
                writer.pair("keyEpoch", Int64(zone.keyEpoch))
            }
            if let share = zone.share {
                writer.key("share")
                writer.beginObject()
                writer.pair("recordName", share)
                writer.key("zoneID")
                writer.zoneID(zone.id, style: style)
                writer.endObject()
            }
        case .deleted(let zoneID):
            writer.zoneID(zoneID, style: style)
            writer.pair("deleted", true)
        case .failed(let zoneID, let failure):
            writer.zoneID(zoneID, style: style)
            failure.writeKeys(to: &writer, style: style)
            writer.pair("uuid", style.requestUUID)
        }
        writer.endObject()
    }

    fileprivate init(reading reader: inout JSONReader) throws {
        var zone = Zone(id: .default, capabilities: [])
        var isAtomic = false
        var capabilities: UInt?
        var isDeleted = false
        var error = ErrorKeys()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try reader.readNull() { continue }
            switch key {
            case "zoneID": zone.id = try ZoneID(reading: &reader)
            case "syncToken": zone.syncToken = try reader.string()
            case "atomic": isAtomic = try reader.bool()
            case "encryptionScope": zone.encryptionScope = try reader.encryptionScope()
            case "share": zone.share = try reader.recordNameOfObject()
            case "capabilities": capabilities = UInt(clamping: try reader.int64())
            case "keyEpoch":
                guard let epoch = UInt32(exactly: try reader.int64()) else { throw RequestFailure.unexpectedInput }
                zone.keyEpoch = epoch
            case "deleted": isDeleted = try reader.bool()
            default: if try !error.read(key, &reader, zoneID: zone.id) { try reader.skipValue() }
            }
        }
        // Without our own key, as from another server, `atomic` marks a custom zone.
        zone.capabilities =
            capabilities.map(ZoneCapabilities.init(rawValue:)) ?? (isAtomic ? .custom(zone.encryptionScope) : [])
        if let failure = error.failure {
            self = .failed(zone.id, failure)
        } else {
            self = isDeleted ? .deleted(zone.id) : .zone(zone)
        }
    }
}
