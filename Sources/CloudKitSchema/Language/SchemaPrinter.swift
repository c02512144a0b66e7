import CloudKitModel

extension SchemaDocument {
    /// The schema in the form of exports: the same schema always gives the same text, and parsing it gives the same schema.
    package var text: String {
        var blocks = ["DEFINE SCHEMA"]
        blocks += roles.sorted(by: Self.precedes).map { "    CREATE ROLE \($0);" }
        blocks += types.values.sorted { Self.precedes($0.name, $1.name) }.map(\.schemaText)
        return blocks.joined(separator: "\n\n") + "\n"
    }

    /// The order of exports: by the codes of the characters.
    static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}

extension RecordTypeDefinition {
    /// The declaration of the type in the schema language.
    var schemaText: String {
        let lines = fieldLines + grantLines
        return "    RECORD TYPE \(Self.written(name)) (\n"
            + lines.map { "        " + $0 }.joined(separator: ",\n") + "\n    );"
    }

    private var fieldLines: [String] {
        var rows: [(name: String, rest: String)] = fields.map { name, field in
            (name, ([field.type.schemaWord] + field.indexes.words).joined(separator: " "))
        }
        for system in SystemFieldName.allCases {
            let indexes = system.field.flatMap { systemIndexes[$0] } ?? []
            guard system.isAlwaysListed || !indexes.isEmpty else { continue }
            rows.append((system.rawValue, ([system.type.schemaWord] + indexes.words).joined(separator: " ")))
        }
        rows.sort { SchemaDocument.precedes($0.name, $1.name) }
        let width = rows.map { Self.written($0.name).count }.max() ?? 0
        return rows.map { row in
            let name = Self.written(row.name)
            return name + String(repeating: " ", count: width - name.count + 1) + row.rest
        }
    }

    private var grantLines: [String] {
        Set(grants.map(\.role)).sorted(by: SchemaDocument.precedes).map { role in
            let words = [Grant.Privilege.read, .create, .write]
                .filter { grants.contains(Grant($0, to: role)) }.map(\.rawValue)
            return "GRANT \(words.joined(separator: ", ")) TO \(Self.written(role))"
        }
    }

    private static func written(_ name: String) -> String {
        SchemaWords.isPlainName(name) && !SchemaWords.reserved.contains(name.lowercased()) ? name : "\"\(name)\""
    }
}
