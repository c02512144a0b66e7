import CloudKitModel
import JSONBytes

extension ModifyRecordsRequest {
    /// Reads the body of `records/modify` (docs/web-services.md §6.1).
    ///
    /// - Throws: `badRequest` for the whole request: something unexpected, a value that is not of its type, `update`,
    ///   `replace` or `delete` without change tag, two operations on one record. `itemLimitExceeded`,
    ///   `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: limits) { reader in
            try ModifyRecordsRequest(reading: &reader, limits: limits)
        }
    }

    private init(reading reader: inout JSONReader, limits: WireLimits) throws {
        self.init(operations: [], zoneID: .default)
        var topZone: ZoneID?
        var recordZone: ZoneID?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "operations":
                operations = try reader.items(limits: limits) { reader in
                    let (operation, zone) = try RecordOperation.read(&reader)
                    if let zone {
                        if let recordZone, recordZone != zone { throw RequestFailure.severalZones }
                        recordZone = zone
                    }
                    return operation
                }
            case "zoneID": topZone = try reader.zoneIDIfAny()
            case "atomic": atomic = try reader.boolIfAny()
            case "desiredKeys": desiredKeys = try reader.stringsIfAny()
            case "numbersAsStrings", "numberAsStrings": numbersAsStrings = try reader.boolIfAny() ?? false
            case "clientChangeToken": clientChangeToken = try reader.base64IfAny()
            case "zoneState": stateUpdate = try reader.readNull() ? nil : ZoneStateUpdate(reading: &reader)
            default: try reader.skipValue()
            }
        }
        zoneID = topZone ?? recordZone ?? .default
        try checkOneOperationPerRecord()
    }

    private func checkOneOperationPerRecord() throws(RequestFailure) {
        guard operations.count > 1 else { return }
        var seen: Set<String> = []
        seen.reserveCapacity(operations.count)
        for operation in operations {
            guard let name = operation.change.recordName else { continue }
            guard seen.insert(name).inserted else {
                throw RequestFailure(
                    .badRequest, "BadRequestException: several operations on one record",
                    remedy: "Name each record once in a request.")
            }
        }
    }

    /// Prints the body.
    package func wire() -> [UInt8] {
        var writer = JSONWriter(capacity: operations.reduce(1024) { $0 + $1.capacity })
        writer.beginObject()
        writer.key("operations")
        writer.beginArray()
        for operation in operations { operation.write(to: &writer) }
        writer.endArray()
        writer.pair("zoneID", zoneID)
        writer.pair("atomic", atomic)
        writer.pair("desiredKeys", desiredKeys)
        if numbersAsStrings { writer.pair("numbersAsStrings", true) }
        writer.pair("clientChangeToken", base64: clientChangeToken)
        if let stateUpdate {
            writer.key("zoneState")
            stateUpdate.write(to: &writer)
        }
        writer.endObject()
        return writer.bytes
    }
}

extension RequestFailure {
    fileprivate static let severalZones = RequestFailure(
        .badRequest, "BadRequestException: records of several zones in one request",
        remedy: "Send one request for each zone.")
}

extension RecordOperation {
    /// One operation, and the zone that its record names.
    fileprivate static func read(_ reader: inout JSONReader) throws -> (RecordOperation, zone: ZoneID?) {
        var kind: Kind?
        var change = RecordChange(recordName: nil)
        var zone: ZoneID?
        var desiredKeys: [String]?
        var recordType: String?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "operationType": kind = try reader.word(Kind.init(rawValue:))
            case "record": if try !reader.readNull() { zone = try change.read(&reader) }
            case "desiredKeys": desiredKeys = try reader.stringsIfAny()
            case "recordType": recordType = try reader.stringIfAny()
            default: try reader.skipValue()
            }
        }
        guard let kind else { throw RequestFailure.missing("operationType") }
        change.desiredKeys = desiredKeys ?? change.desiredKeys
        change.recordType = change.recordType ?? recordType
        let operation = RecordOperation(kind, change)
        try operation.checkRequiredKeys()
        return (operation, zone)
    }

    private func checkRequiredKeys() throws(RequestFailure) {
        if kind.checksTag, change.changeTag == nil { throw .missing("recordChangeTag") }
        switch kind {
        case .create: if change.recordType == nil { throw .missing("recordType") }
        case .update, .replace, .delete, .forceDelete: if change.recordName == nil { throw .missing("recordName") }
        case .forceUpdate, .forceReplace: break
        }
    }

    /// About the bytes of its JSON.
    fileprivate var capacity: Int {
        let fields = change.fields.reduce(0) { sum, field in
            if case .set(let field) = field { sum + field.name.utf8.count + field.json.count + 48 } else { sum + 64 }
        }
        return 256 + fields + (change.protection?.byteCount ?? 0) * 4 / 3
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("operationType")
        writer.string(kind.rawValue)
        writer.key("record")
        change.write(to: &writer)
        writer.pair("desiredKeys", change.desiredKeys)
        writer.endObject()
    }
}

extension RecordChange {
    /// Reads the record of an operation (docs/web-services.md §3.3); returns the zone that it names.
    fileprivate mutating func read(_ reader: inout JSONReader) throws -> ZoneID? {
        var zone: ZoneID?
        var sharing = ShareChangeReader()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.stringIfAny()
            case "recordType": recordType = try reader.stringIfAny().map(Self.canonicalType)
            case "fields": fields = try reader.readNull() ? [] : try reader.fieldChanges()
            case "recordChangeTag": changeTag = try reader.stringIfAny().map { ChangeTag($0) }
            case "parent": parent = try ParentChange(reading: &reader)
            case "createShortGUID": createShortGUID = try reader.boolIfAny() ?? false
            case "protection": protection = try reader.readNull() ? nil : try Protection(reading: &reader)
            case "desiredKeys": desiredKeys = try reader.stringsIfAny()
            case "zoneID": zone = try reader.zoneIDIfAny()
            default: if try !sharing.read(key, &reader) { try reader.skipValue() }
            }
        }
        // Records echoed from an answer may carry such keys without being shares.
        if recordType == nil || recordType == Validity.shareRecordType { share = sharing.result }
        return zone
    }

    /// Apple's reference writes the type of shares with a capital letter; the live service does not (docs/web-services.md §10.1).
    private static func canonicalType(_ name: String) -> String {
        name == "cloudKit.share" ? Validity.shareRecordType : name
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.pair("recordName", recordName)
        writer.pair("recordType", recordType)
        if !fields.isEmpty {
            writer.key("fields")
            writer.beginObject()
            for field in fields { field.write(to: &writer) }
            writer.endObject()
        }
        writer.pair("recordChangeTag", changeTag?.value)
        switch parent {
        case .keep: break
        case .remove:
            writer.key("parent")
            writer.null()
        case .set(let recordName):
            writer.key("parent")
            writer.object { $0.pair("recordName", recordName) }
        }
        if createShortGUID { writer.pair("createShortGUID", true) }
        writer.pair("protection", protection)
        share?.writeKeys(to: &writer)
        writer.endObject()
    }
}

extension FieldChange {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.key(name)
        switch self {
        case .remove: writer.splice("null")
        case .set(let field):
            writer.splice(#"{"value":"#)
            writer.splice(field.json)
            writer.writeTag(field.type)
            writer.splice("}")
        }
    }
}

extension ParentChange {
    /// null removes the parent (docs/web-services.md §6.2).
    fileprivate init(reading reader: inout JSONReader) throws {
        if try reader.readNull() {
            self = .remove
            return
        }
        guard let recordName = try reader.recordNameOfObject() else { throw RequestFailure.missing("recordName") }
        self = .set(recordName: recordName)
    }
}
