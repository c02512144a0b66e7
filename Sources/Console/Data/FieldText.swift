import CloudKitModel
import JSONBytes
import TextEncodings

/// Fields of records as pages show them.
struct FieldText {
    /// The database of the record.
    var database: DatabaseChoice
    /// The name of the record.
    var recordName: String
    /// The zone of the record.
    var zoneName: String

    /// Returns the value of a field; sealed values as sealed, with their size.
    ///
    /// - Parameter charactersMax: Longer texts are cut.
    func html(_ field: Field, charactersMax: Int = 10_000) -> HTML {
        if field.type.isEncrypted { return Self.sealed(bytes: field.sealed?.count ?? field.json.count) }
        guard let value = try? field.value() else { return Part.mark("damaged", .bad) }
        return html(value, of: field.name, index: nil, charactersMax: charactersMax)
    }

    /// Returns the text of a sealed value.
    static func sealed(bytes: Int) -> HTML { HTML([Part.mark("sealed"), HTML(" "), Part.bytes(bytes)]) }

    private func html(_ value: FieldValue, of name: String, index: Int?, charactersMax: Int) -> HTML {
        switch value {
        case .string(let text): Self.cut(text, charactersMax)
        case .int64(let number): HTML(String(number))
        case .double(let number): HTML(String(number))
        case .timestamp(let milliseconds): Part.time(milliseconds)
        case .bytes(let bytes):
            HTML([
                Part.bytes(bytes.count), HTML(" "), Tag.code { Self.cut(Base64.encode(bytes), min(charactersMax, 64)) },
            ])
        case .location(let location): HTML("\(location.latitude), \(location.longitude)")
        case .reference(let reference):
            HTML([
                Part.link(
                    reference.recordName,
                    database.page("data", "record", query: ["zone": zoneName, "name": reference.recordName])),
                reference.action == .none ? HTML() : HTML(" (\(Self.word(of: reference.action)))"),
            ])
        case .asset(let asset): file(asset, of: name, index: index)
        case .list(_, let values):
            values.isEmpty
                ? Tag.span(.class("quiet"), text: "empty list")
                : Tag.ol {
                    values.prefix(Self.listMax).enumerated().map { index, value in
                        Tag.li { html(value, of: name, index: index, charactersMax: charactersMax) }
                    }
                    if values.count > Self.listMax { Tag.li("and \(values.count - Self.listMax) more") }
                }
        }
    }

    private func file(_ asset: AssetValue, of name: String, index: Int?) -> HTML {
        // Assets of private databases are sealed by the devices.
        guard database.user == nil else { return Self.sealed(bytes: Int(clamping: asset.size)) }
        return HTML([
            Part.bytes(asset.size), HTML(" "),
            Part.link(
                "Download",
                database.page(
                    "data", "asset",
                    query: ["zone": zoneName, "name": recordName, "field": name, "index": index.map { String($0) }])),
        ])
    }

    private static func word(of action: ReferenceValue.Action) -> String {
        switch action {
        case .none: "keeps this record"
        case .deleteSelf: "this record is deleted with it"
        case .validate: "cannot be deleted before this record"
        }
    }

    private static func cut(_ text: String, _ charactersMax: Int) -> HTML {
        guard text.count > charactersMax else { return Part.name(text) }
        return HTML([
            Part.name(text.prefix(charactersMax) + "…"), Tag.span(.class("quiet"), text: " \(text.count) characters"),
        ])
    }

    private static let listMax = 100
}

/// The form in which forms take a value: a text or number as it is, other types as JSON.
enum FieldInput {
    /// Returns whether forms can change fields of a type.
    static func canEdit(_ type: FieldType) -> Bool {
        !type.isEncrypted && type.base != .asset && type.base != .unknown
    }

    /// Returns the text of a field.
    static func text(_ field: Field) -> String {
        if case .string(let text)? = try? field.value() { return text }
        return String(
            decoding: field.type == .bytes ? field.json.dropFirst().dropLast() : field.json[...], as: UTF8.self)
    }

    /// Returns the JSON of a text for a type.
    ///
    /// - Throws: `badRequest` for a text that is no JSON where it has to be.
    static func json(_ text: String, type: FieldType, name: String) throws(RequestFailure) -> [UInt8] {
        if !type.isList, type.base == .string || type.base == .bytes {
            var json: [UInt8] = []
            JSONWriter.appendString(text, to: &json)
            return json
        }
        let trimmed = text.filter { !$0.isNewline }
        let json = Array(trimmed.utf8)
        do {
            try withJSON(json) { reader in _ = try reader.value() }
        } catch {
            throw RequestFailure(
                .badRequest, "the value of \(name) cannot be read",
                remedy: "Write \(hint(for: type)).")
        }
        return json
    }

    /// Returns what to write for a value of a type.
    static func hint(for type: FieldType) -> String {
        if type.isList { return "a JSON array, such as [1, 2] or [\"a\", \"b\"]" }
        return switch type.base {
        case .string: "text"
        case .int64: "a whole number"
        case .double: "a number"
        case .timestamp: "milliseconds since 1970"
        case .bytes: "base 64"
        case .location: "{\"latitude\": 52.5, \"longitude\": 13.4}"
        case .reference: "{\"recordName\": \"…\", \"action\": \"NONE\"}"
        case .asset, .unknown: "nothing"
        }
    }

    /// The types that forms offer for new fields.
    static let types: [FieldType] = {
        let single: [FieldType] = [.string, .int64, .double, .timestamp, .bytes, .location, .reference]
        return single + single.map(\.list)
    }()
}
