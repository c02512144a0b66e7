import CloudKitModel
import JSONBytes

/// Prints records of answers (docs/web-services.md §3.2), splicing the stored JSON of their fields.
///
/// Not copyable: a copy for each field was a tenth of the references counted for a page.
struct RecordPrinter: ~Copyable {
    let style: WireStyle
    private let isNative: Bool
    private let numbersAsStrings: Bool
    private let desiredKeys: Set<String>?
    private var zone: PrintedPart<ZoneID>?
    private var recordType: PrintedPart<String>?
    private var creator: PrintedPart<Stamp>?
    private var modifier: PrintedPart<Stamp>?

    init(style: WireStyle) {
        self.style = style
        self.isNative = style.isNative
        self.numbersAsStrings = style.numbersAsStrings
        self.desiredKeys = style.desiredKeys.map(Set.init)
    }

    private mutating func writeZoneID(_ id: ZoneID, to writer: inout JSONWriter) {
        if let zone, zone.value == id { return writer.splice(zone.json) }
        zone = PrintedPart(id, to: &writer) { $0.zoneID(id, style: style) }
    }

    /// About how many bytes a record takes, rather too many: so that a body is written without growing.
    static func capacity(for record: Record) -> Int {
        var capacity = 768
        record.withProperties { record in
            switch record.fields {
            case .values(let fields): for field in fields { capacity += field.name.utf8.count + field.json.count + 48 }
            case .packed(let fields): capacity += fields.contents.count + 48 * fields.count
            }
        }
        return capacity
    }

    mutating func write(_ record: Record, to writer: inout JSONWriter) {
        record.withProperties { write($0, to: &writer) }
    }

    private mutating func write(_ record: Record.Properties, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("recordName")
        writer.string(record.id.recordName)
        if let recordType, recordType.value == record.recordType {
            writer.splice(recordType.json)
        } else {
            recordType = PrintedPart(record.recordType, to: &writer) { writer in
                writer.splice(#","recordType":"#)
                writer.string(record.recordType)
                writer.splice(#","fields":{"#)
            }
        }
        if desiredKeys == nil, case .packed(let fields) = record.fields {
            fields.visit { field in
                write(field, to: &writer)
                return true
            }
        } else {
            for field in record.fields.values {
                if let desiredKeys, !desiredKeys.contains(field.name) { continue }
                write(field, to: &writer)
            }
        }
        writer.splice(#"},"pluginFields":{},"recordChangeTag":"#)
        writer.string(record.changeTag.value)
        writer.splice(#","created":"#)
        Self.write(record.created, like: &creator, style, to: &writer)
        writer.splice(#","modified":"#)
        Self.write(record.modified, like: &modifier, style, to: &writer)
        writer.splice(#","deleted":false,"zoneID":"#)
        writeZoneID(record.id.zoneID, to: &writer)
        if let shortGUID = record.shortGUID { writer.pair("shortGUID", shortGUID) }
        if let parent = record.parent {
            writer.key("parent")
            writer.object { $0.pair("recordName", parent) }
        }
        if let share = record.share {
            writer.key("share")
            writer.beginObject()
            writer.pair("recordName", share)
            writer.key("zoneID")
            writeZoneID(record.id.zoneID, to: &writer)
            writer.endObject()
        }
        if isNative, let protection = record.protection { writer.pair("protection", protection) }
        if let sharing = record.sharing { sharing.writeKeys(to: &writer, style: style) }
        writer.endObject()
    }

    private func write(_ field: Field, to writer: inout JSONWriter) {
        writer.key(field.name)
        writer.splice(#"{"value":"#)
        if numbersAsStrings, !field.type.isEncrypted, field.type.base == .int64 || field.type.base == .double {
            Self.writeQuoted(field.json, to: &writer)
        } else if field.type.base == .asset {
            writer.splice(style.json(ofAssets: field))
        } else {
            writer.splice(field.json)
        }
        writeEnd(of: field.type, to: &writer)
    }

    /// Prints a field as it is in the store, if it leaves as it is.
    private func write(_ field: PackedFields.Element, to writer: inout JSONWriter) {
        if field.type.base == .asset || numbersAsStrings { return write(field.field, to: &writer) }
        writer.key(utf8: field.name)
        writer.splice(#"{"value":"#)
        writer.splice(field.json)
        writeEnd(of: field.type, to: &writer)
    }

    private func writeEnd(of type: FieldType, to writer: inout JSONWriter) {
        if type.isEncrypted, !isNative {
            // Clients without keys hold bytes, whatever type is sealed in them (B-ENC-06).
            writer.splice(#","type":"ENCRYPTED_BYTES","isEncrypted":true"#)
        } else {
            writer.writeTag(type)
        }
        writer.splice("}")
    }

    /// Numbers, single or in a list, each in quotes.
    private static func writeQuoted(_ json: [UInt8], to writer: inout JSONWriter) {
        let quote = UInt8(ascii: "\"")
        guard json.first == UInt8(ascii: "["), json.count > 2 else {
            if json.first == UInt8(ascii: "[") {
                writer.splice(json)
            } else {
                writer.splice([quote] + json + [quote])
            }
            return
        }
        var quoted: [UInt8] = []
        quoted.reserveCapacity(json.count + json.count / 2 + 4)
        for byte in json {
            switch byte {
            case UInt8(ascii: "["): quoted += [byte, quote]
            case UInt8(ascii: "]"): quoted += [quote, byte]
            case UInt8(ascii: ","): quoted += [quote, byte, quote]
            default: quoted.append(byte)
            }
        }
        writer.splice(quoted)
    }

    private static func write(
        _ stamp: Stamp, like last: inout PrintedPart<Stamp>?, _ style: WireStyle, to writer: inout JSONWriter
    ) {
        writer.splice(#"{"timestamp":"#)
        writer.int64(stamp.timestamp)
        if let last, last.value.user == stamp.user, last.value.deviceID == stamp.deviceID {
            return writer.splice(last.json)
        }
        last = PrintedPart(stamp, to: &writer) { writer in
            writer.splice(#","userRecordName":"#)
            writer.string(style.name(ofUser: stamp.user))
            writer.pair("deviceID", stamp.deviceID)
            writer.endObject()
        }
    }

    /// Writes the outcome of a record of a request.
    mutating func write(_ outcome: RecordOutcome, to writer: inout JSONWriter) {
        switch outcome {
        case .record(let record): write(record, to: &writer)
        case .deleted(let tombstone): write(tombstone, to: &writer)
        case .failed(let recordName, let failure):
            writer.beginObject()
            writer.key("recordName")
            writer.string(recordName)
            failure.writeKeys(to: &writer, style: style)
            writer.pair("uuid", style.requestUUID)
            writer.endObject()
        }
    }

    /// Writes an entry of a feed.
    mutating func write(_ event: RecordChangeEvent, to writer: inout JSONWriter) {
        switch event {
        case .changed(let record): write(record, to: &writer)
        case .deleted(let tombstone): write(tombstone, to: &writer)
        }
    }

    /// Writes a tombstone; its record type on the native surface alone (B-CHG-05): typed clients of the web services
    /// recognise a record by its type.
    private func write(_ tombstone: RecordTombstone, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("recordName")
        writer.string(tombstone.recordName)
        if isNative { writer.pair("recordType", tombstone.recordType) }
        writer.pair("recordChangeTag", tombstone.changeTag?.value)
        writer.splice(#","deleted":true}"#)
    }
}

extension JSONWriter {
    /// Writes the tag that follows a value, comma included.
    mutating func writeTag(_ type: FieldType) {
        if !type.isGuess {
            splice(#","type":""#)
            splice(type.wireName)
            splice(#"""#)
        }
        if type.needsEncryptedMark { splice(#","isEncrypted":true"#) }
    }
}

/// A part of the JSON of a record, as it was printed last: the records of an answer mostly have it in common.
private final class PrintedPart<Value> {
    let value: Value
    let json: [UInt8]

    /// Writes the part for a value.
    init(_ value: Value, to writer: inout JSONWriter, print: (inout JSONWriter) -> Void) {
        let start = writer.bytes.count
        print(&writer)
        self.value = value
        json = Array(writer.bytes[start...])
    }
}
