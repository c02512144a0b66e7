import CloudKitModel
import JSONBytes

/// An item of an answer's `records`: a record, a tombstone or an error, by its keys.
struct RecordAnswerItem {
    private var recordName: String?
    private var recordType: String?
    private var fields: [Field] = []
    private var changeTag: String?
    private var created = Stamp(timestamp: 0, user: .caller)
    private var modified = Stamp(timestamp: 0, user: .caller)
    private var isDeleted = false
    private var zoneID: ZoneID?
    private var parent: String?
    private var share: String?
    private var shortGUID: String?
    private var protection: Protection?
    private var sharing = ShareKeysOfRecord()
    private var error = ErrorKeys()

    /// - Parameter zoneID: The zone of an item that names none.
    init(reading reader: inout JSONReader, zoneID: ZoneID?) throws {
        self.zoneID = zoneID
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try reader.readNull() { continue }
            try read(key, &reader)
        }
    }

    private mutating func read(_ key: JSONText, _ reader: inout JSONReader) throws {
        switch key {
        case "recordName": recordName = try reader.string()
        case "recordType": recordType = try reader.string()
        case "fields":
            fields = try reader.fieldChanges().compactMap { if case .set(let field) = $0 { field } else { nil } }
        case "recordChangeTag": changeTag = try reader.string()
        case "created": created = try Stamp(reading: &reader)
        case "modified": modified = try Stamp(reading: &reader)
        case "deleted": isDeleted = try reader.bool()
        case "zoneID": zoneID = try ZoneID(reading: &reader)
        case "parent": parent = try reader.recordNameOfObject()
        case "share": share = try reader.recordNameOfObject()
        case "shortGUID": shortGUID = try reader.string()
        case "protection": protection = try Protection(reading: &reader)
        default:
            if try sharing.read(key, &reader) { return }
            if try !error.read(key, &reader, zoneID: zoneID) { try reader.skipValue() }
        }
    }

    var tombstone: RecordTombstone? {
        guard isDeleted, let recordName else { return nil }
        return RecordTombstone(
            recordName: recordName, recordType: recordType, changeTag: changeTag.map { ChangeTag($0) })
    }

    var record: Record? {
        guard let recordName, let recordType, !isDeleted else { return nil }
        return Record(
            id: RecordID(recordName: recordName, zoneID: zoneID ?? .default), recordType: recordType, fields: fields,
            changeTag: ChangeTag(changeTag ?? ""), created: created, modified: modified, parent: parent, share: share,
            shortGUID: shortGUID, protection: protection, sharing: sharing.share(ofType: recordType))
    }

    var outcome: RecordOutcome? {
        if let failure = error.failure { return .failed(recordName: recordName ?? "", failure) }
        if let tombstone { return .deleted(tombstone) }
        return record.map { .record($0) }
    }
}

extension Record {
    /// Reads a record of an answer; `zoneID` is its zone if it names none.
    init(reading reader: inout JSONReader, zoneID: ZoneID?) throws {
        guard let record = try RecordAnswerItem(reading: &reader, zoneID: zoneID).record else {
            throw RequestFailure.unreadableAnswer
        }
        self = record
    }
}

extension Stamp {
    init(reading reader: inout JSONReader) throws(JSONError) {
        self.init(timestamp: 0, user: .caller)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try reader.readNull() { continue }
            switch key {
            case "timestamp": timestamp = try reader.int64()
            case "userRecordName", "user": user = UserID(try reader.string())
            case "deviceID": deviceID = try reader.string()
            default: try reader.skipValue()
            }
        }
    }
}

extension JSONReader {
    /// The `recordName` of an object; nil if it has none.
    mutating func recordNameOfObject() throws(JSONError) -> String? {
        var result: String?
        try beginObject()
        while let key = try nextKey() {
            if key == "recordName" { result = try stringIfAny() } else { try skipValue() }
        }
        return result
    }
}
