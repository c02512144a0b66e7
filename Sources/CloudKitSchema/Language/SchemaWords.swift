import CloudKitModel

/// The words of the schema language.
enum SchemaWords {
    /// The words that a name must be quoted for.
    static let reserved: Set<String> = ["grant", "preferred", "queryable", "sortable", "searchable"]

    static let options: [String: FieldIndexes] = [
        "QUERYABLE": .queryable, "SORTABLE": .sortable, "SEARCHABLE": .searchable,
    ]

    static let types: [String: FieldType.Base] = [
        "ASSET": .asset, "BYTES": .bytes, "DOUBLE": .double, "INT64": .int64, "LOCATION": .location,
        "REFERENCE": .reference, "STRING": .string, "TIMESTAMP": .timestamp,
    ]

    /// References are read by the server, and assets are sealed as files.
    static let encryptable: Set<FieldType.Base> = [.bytes, .string, .double, .int64, .location, .timestamp]

    /// Whether a name can be written without quotes.
    static func isPlainName(_ name: String) -> Bool {
        guard let first = name.utf8.first, (1...Validity.nameLengthMax).contains(name.utf8.count), isLetter(first)
        else {
            return false
        }
        return name.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }
}

extension FieldIndexes {
    /// The options of the schema language, in the order of exports.
    package var words: [String] {
        [(FieldIndexes.queryable, "QUERYABLE"), (.searchable, "SEARCHABLE"), (.sortable, "SORTABLE")]
            .filter { contains($0.0) }.map(\.1)
    }
}

extension FieldType {
    /// The type in the schema language.
    package var schemaWord: String {
        let base = SchemaWords.types.first { $0.value == self.base }?.key ?? "STRING"
        let word = (isEncrypted ? "ENCRYPTED " : "") + base
        return isList ? "LIST<\(word)>" : word
    }
}

/// A system field by its name in the schema language.
enum SystemFieldName: String, Hashable, CaseIterable {
    case createTime = "___createTime"
    case createdBy = "___createdBy"
    case etag = "___etag"
    case modTime = "___modTime"
    case modifiedBy = "___modifiedBy"
    case recordID = "___recordID"
    /// Welkin's own: the share and the parent of a record can be indexed, too.
    case parent = "___parent"
    case share = "___share"

    /// - Parameter name: In any case: web services write `___recordId`.
    init?(_ name: String) {
        guard let known = Self.allCases.first(where: { $0.rawValue.lowercased() == name.lowercased() }) else {
            return nil
        }
        self = known
    }

    static let allNames = allCases.map(\.rawValue)

    /// Whether exports list the field although it has no index.
    var isAlwaysListed: Bool { self != .parent && self != .share }

    /// The attribute; nil for the change tag, which no query can use.
    var field: QueryKey.SystemField? { QueryKey.SystemField(schemaName: rawValue) }

    var type: FieldType {
        switch self {
        case .createTime, .modTime: .timestamp
        case .etag: .string
        case .createdBy, .modifiedBy, .recordID, .parent, .share: .reference
        }
    }
}
