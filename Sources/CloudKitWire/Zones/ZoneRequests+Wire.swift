import CloudKitModel
import JSONBytes

extension Array where Element == ZoneID {
    /// Reads the body of `zones/lookup`: bare zone IDs or `{"zoneID": {…}}` (docs/web-services.md §8.2).
    ///
    /// - Throws: `badRequest`; `itemLimitExceeded`, `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.requestList("zones", bytes, limits: limits) { try $0.zone() }
    }

    /// Prints the body of `zones/lookup`.
    package func wire() -> [UInt8] {
        WireBody.list("zones", self) { $0.write(to: &$1) }
    }
}

extension Array where Element == ZoneOperation {
    /// Reads the body of `zones/modify` (docs/web-services.md §8.2).
    ///
    /// - Throws: `badRequest`; `itemLimitExceeded`, `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.requestList("operations", bytes, limits: limits) { try ZoneOperation(reading: &$0) }
    }

    /// Prints the body of `zones/modify`.
    package func wire() -> [UInt8] {
        WireBody.list("operations", self) { operation, writer in
            writer.beginObject()
            writer.key("operationType")
            switch operation {
            case .create: writer.word("create")
            case .delete: writer.word("delete")
            case .raiseKeyEpoch: writer.word("raiseKeyEpoch")
            }
            writer.key("zone")
            writer.object {
                $0.pair("zoneID", operation.zoneID)
                if case .create(_, let scope) = operation { $0.encryptionScope(scope) }
            }
            if case .raiseKeyEpoch(_, let epoch) = operation { writer.pair("keyEpoch", Int64(epoch)) }
            writer.endObject()
        }
    }
}

extension ZoneOperation {
    private enum Kind: String {
        case create, delete, raiseKeyEpoch
    }

    fileprivate init(reading reader: inout JSONReader) throws {
        var kind: Kind?
        var zone: (id: ZoneID, scope: ZoneEncryptionScope)?
        var keyEpoch: Int64?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "operationType": kind = try reader.word(Kind.init(rawValue:))
            case "keyEpoch": keyEpoch = try reader.int64IfAny()
            case "zone": zone = try reader.readNull() ? nil : try reader.scopedZone()
            default: try reader.skipValue()
            }
        }
        guard let kind else { throw RequestFailure.missing("operationType") }
        guard let zone else { throw RequestFailure.missing("zone") }
        switch kind {
        case .create: self = .create(zone.id, zone.scope)
        case .delete: self = .delete(zone.id)
        case .raiseKeyEpoch:
            guard let keyEpoch else { throw RequestFailure.missing("keyEpoch") }
            guard let epoch = UInt32(exactly: keyEpoch) else { throw RequestFailure.unexpectedInput }
            self = .raiseKeyEpoch(zone.id, to: epoch)
        }
    }
}
