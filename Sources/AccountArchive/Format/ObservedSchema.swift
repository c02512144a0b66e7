import CloudKitModel

/// The record types and fields that occur in records, written in the schema language. Indexes and grants are not known from records.
struct ObservedSchema: Sendable {
    private var types: [String: [String: FieldType]] = [:]

    /// Adds the fields of a record; of a field with several types the first counts.
    mutating func add(_ record: ExportedRecord) {
        var fields = types[record.recordType] ?? [:]
        for field in record.fields where fields[field.name] == nil && field.type.base != .unknown {
            fields[field.name] = field.type
        }
        types[record.recordType] = fields
    }

    /// The text of a `.ckdb` file.
    var text: String {
        var blocks = ["DEFINE SCHEMA"]
        for (name, fields) in types.sorted(by: { $0.key < $1.key }) {
            let lines =
                fields.sorted { $0.key < $1.key }.map { "        \"\($0.key)\" \(Self.word($0.value))" }
                + [
                    "        GRANT WRITE TO \"_creator\"", "        GRANT CREATE TO \"_icloud\"",
                    "        GRANT READ TO \"_world\"",
                ]
            blocks.append("    RECORD TYPE \"\(name)\" (\n\(lines.joined(separator: ",\n"))\n    );")
        }
        return blocks.joined(separator: "\n\n") + "\n"
    }

    private static func word(_ type: FieldType) -> String {
        let base = type.base == .asset ? "ASSET" : FieldType(type.base).description
        let word = (type.isEncrypted ? "ENCRYPTED " : "") + base
        return type.isList ? "LIST<\(word)>" : word
    }
}
