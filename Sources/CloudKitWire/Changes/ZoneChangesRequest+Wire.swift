import CloudKitModel
import JSONBytes

extension Array where Element == ZoneChangesRequest {
    /// Reads the body of `changes/zone` (docs/web-services.md §8.3): per-zone keys at the top level are defaults.
    ///
    /// - Throws: `badRequest`; `itemLimitExceeded`, `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: limits) { reader in
            var zones: [ZoneChangesKeys] = []
            var defaults = ZoneChangesKeys()
            try reader.object { reader, key in
                if key == "zones" {
                    zones = try reader.items(limits: limits) { try ZoneChangesKeys(reading: &$0) }
                } else {
                    try defaults.read(key, &reader)
                }
            }
            return zones.map { $0.request(defaults: defaults) }
        }
    }

    /// Prints the body of `changes/zone`.
    package func wire() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("zones")
        writer.beginArray()
        for request in self {
            writer.beginObject()
            request.writeKeys(to: &writer)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}

extension ZoneChangesRequest {
    /// Reads the body of the old `records/changes` (docs/web-services.md §8.5).
    ///
    /// - Throws: `badRequest`; `sizeLimitExceeded` beyond `limits`.
    package init(legacyWire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: limits) { reader in
            try ZoneChangesKeys(reading: &reader).request(defaults: ZoneChangesKeys())
        }
    }

    fileprivate func writeKeys(to writer: inout JSONWriter) {
        writer.pair("zoneID", zoneID)
        writer.pair("syncToken", syncToken)
        writer.pair("resultsLimit", resultsLimit.map(Int64.init))
        writer.pair("desiredKeys", desiredKeys)
        writer.pair("desiredRecordTypes", desiredRecordTypes)
        if reverse { writer.pair("reverse", true) }
        if numbersAsStrings { writer.pair("numbersAsStrings", true) }
        if let states {
            writer.key("zoneStates")
            states.write(to: &writer)
        }
    }
}

/// The keys of one zone's entry as they came.
private struct ZoneChangesKeys {
    var zoneID: ZoneID?
    var bareZone: ZoneID?
    var syncToken: String?
    var resultsLimit: Int?
    var desiredKeys: [String]?
    var desiredRecordTypes: [String]?
    var reverse: Bool?
    var numbersAsStrings: Bool?
    var states: ZoneStatesRequest?

    init() {}

    init(reading reader: inout JSONReader) throws {
        try reader.beginObject()
        while let key = try reader.nextKey() { try read(key, &reader) }
    }

    mutating func read(_ key: JSONText, _ reader: inout JSONReader) throws {
        if try reader.readNull() { return }
        switch key {
        case "zoneID": zoneID = try ZoneID(reading: &reader)
        case "zoneName": bareZone = ZoneID(zoneName: try reader.string(), owner: bareZone?.owner ?? .caller)
        case "ownerRecordName", "ownerName":
            let zoneName = bareZone?.zoneName ?? ZoneID.defaultZoneName
            bareZone = ZoneID(zoneName: zoneName, owner: UserID(try reader.string()))
        case "syncToken": syncToken = try reader.string()
        case "resultsLimit": resultsLimit = try reader.intIfAny()
        case "desiredKeys": desiredKeys = try reader.stringsIfAny()
        case "desiredRecordTypes": desiredRecordTypes = try reader.stringsIfAny()
        case "reverse": reverse = try reader.bool()
        case "numbersAsStrings", "numberAsStrings": numbersAsStrings = try reader.bool()
        case "zoneStates": states = try ZoneStatesRequest(reading: &reader)
        default: try reader.skipValue()
        }
    }

    /// The token is not a default: it belongs to one zone, and so do states.
    func request(defaults: ZoneChangesKeys) -> ZoneChangesRequest {
        ZoneChangesRequest(
            zoneID: zoneID ?? bareZone ?? defaults.zoneID ?? .default, syncToken: syncToken,
            resultsLimit: resultsLimit ?? defaults.resultsLimit, desiredKeys: desiredKeys ?? defaults.desiredKeys,
            desiredRecordTypes: desiredRecordTypes ?? defaults.desiredRecordTypes,
            reverse: reverse ?? defaults.reverse ?? false,
            numbersAsStrings: numbersAsStrings ?? defaults.numbersAsStrings ?? false, states: states)
    }
}
