import CloudKitModel
import JSONBytes

extension ExportedRecord {
    /// The record as one line of JSON, without the end of the line.
    package var line: [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        writer.key("recordName")
        writer.string(recordName)
        writer.key("recordType")
        writer.string(recordType)
        writer.key("recordChangeTag")
        writer.string(changeTag)
        writer.key("created")
        created.write(to: &writer)
        writer.key("modified")
        modified.write(to: &writer)
        writer.optional("parent", parent)
        writer.optional("share", share)
        writer.optional("problem", problem)
        writer.key("fields")
        writer.beginObject()
        for field in fields {
            writer.key(field.name)
            field.write(to: &writer)
        }
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }

    /// Reads a line.
    ///
    /// - Parameter line: The bytes, without the end of the line.
    /// - Throws: `JSONError`, or `RequestFailure` for values that no record can have.
    package init(line: [UInt8]) throws {
        self = try withJSON(line) { reader in
            var record = ExportedRecord(
                recordName: "", recordType: "", changeTag: "", created: .unknown, modified: .unknown, fields: [])
            try reader.beginObject()
            while let key = try reader.nextKey() {
                if try reader.readNull() { continue }
                switch key {
                case "recordName": record.recordName = try reader.string()
                case "recordType": record.recordType = try reader.string()
                case "recordChangeTag": record.changeTag = try reader.string()
                case "created": record.created = try Stamp(reading: &reader)
                case "modified": record.modified = try Stamp(reading: &reader)
                case "parent": record.parent = try reader.string()
                case "share": record.share = try reader.string()
                case "problem": record.problem = try reader.string()
                case "fields":
                    try reader.object { reader, key in
                        record.fields.append(try ExportedField(name: key.string, reading: &reader))
                    }
                default: try reader.skipValue()
                }
            }
            return record
        }
        try Validity.recordName(recordName, isSystem: true)
        try Validity.recordType(recordType)
        fields.sort { $0.name < $1.name }
        guard zip(fields, fields.dropFirst()).allSatisfy({ $0.name != $1.name }) else {
            throw RequestFailure(.badRequest, "a field is there twice")
        }
    }
}

extension ExportedField {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("type")
        writer.string(FieldType(type.base, isList: type.isList).description)
        writer.key("value")
        switch content {
        case .json(let json): writer.raw(json)
        case .files(let files):
            if type.isList {
                writer.array { writer in
                    for file in files { file.write(to: &writer) }
                }
            } else {
                files.first?.write(to: &writer)
            }
        }
        if type.isEncrypted {
            writer.key("isEncrypted")
            writer.bool(true)
        }
        writer.endObject()
    }

    fileprivate init(name: String, reading reader: inout JSONReader) throws {
        var type: FieldType?
        var isEncrypted = false
        var bytes: [UInt8]?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "type": type = FieldType(word: try reader.string())
            case "value": bytes = try reader.rawValue()
            case "isEncrypted": isEncrypted = try reader.bool()
            default: try reader.skipValue()
            }
        }
        guard var type, let bytes, !type.isEncrypted else {
            throw RequestFailure(.badRequest, "a field has no type or value")
        }
        if type.base == .asset {
            content = .files(try Self.files(bytes, isList: type.isList))
        } else {
            try Self.check(bytes, type)
            content = .json(bytes)
        }
        type.isEncrypted = isEncrypted
        if isEncrypted, !type.isSealable {
            throw RequestFailure(.badRequest, "a field of this type cannot be encrypted")
        }
        self.name = name
        self.type = type
    }

    /// Checks that the JSON is a value of the type. Encrypted dates may have fractions of a millisecond.
    private static func check(_ json: [UInt8], _ type: FieldType) throws {
        let type = type.base == .timestamp ? FieldType(.double, isList: type.isList) : type
        _ = try withJSON(json) { reader in try FieldValue(try reader.value(), type: type) }
    }

    private static func files(_ json: [UInt8], isList: Bool) throws -> [ExportedAsset] {
        try withJSON(json) { reader in
            guard isList else { return [try ExportedAsset(reading: &reader)] }
            var files: [ExportedAsset] = []
            try reader.array { files.append(try ExportedAsset(reading: &$0)) }
            return files
        }
    }
}

extension ExportedAsset {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("file")
            writer.string(path)
            writer.key("size")
            writer.int64(size)
        }
    }

    fileprivate init(reading reader: inout JSONReader) throws {
        var path = ""
        var size: Int64 = -1
        try reader.object { reader, key in
            switch key {
            case "file": path = try reader.string()
            case "size": size = try reader.int64()
            default: try reader.skipValue()
            }
        }
        let name = String(path.split(separator: "/").last ?? "")
        guard Self.isName(name), path == Self.folder + "/" + name, size >= 0 else {
            throw RequestFailure(.badRequest, "an asset names no file of the export")
        }
        self.init(sha256: name, size: size)
    }
}

extension Stamp {
    fileprivate static let unknown = Stamp(timestamp: 0, user: UserID(""))

    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("timestamp")
            writer.int64(timestamp)
            writer.key("userRecordName")
            writer.string(user.recordName)
            writer.optional("deviceID", deviceID)
        }
    }

    fileprivate init(reading reader: inout JSONReader) throws {
        var stamp = Stamp.unknown
        try reader.object { reader, key in
            switch key {
            case "timestamp": stamp.timestamp = try reader.int64()
            case "userRecordName": stamp.user = UserID(try reader.string())
            case "deviceID": stamp.deviceID = try reader.string()
            default: try reader.skipValue()
            }
        }
        self = stamp
    }
}

extension JSONWriter {
    /// Writes a key and its text; nothing where there is no text.
    fileprivate mutating func optional(_ key: StaticString, _ text: String?) {
        guard let text else { return }
        self.key(key)
        string(text)
    }
}
