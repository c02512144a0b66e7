import JSONBytes

extension FieldType: CustomStringConvertible {
    /// The name as it appears in error texts: `STRING`, `INT64_LIST`, `ENCRYPTED_STRING`.
    package var description: String {
        // The types of most sealed values, whose names are part of what is authenticated with each: nothing is allocated.
        if isEncrypted, !isList {
            switch base {
            case .string: return "ENCRYPTED_STRING"
            case .int64: return "ENCRYPTED_INT64"
            case .double: return "ENCRYPTED_DOUBLE"
            case .timestamp: return "ENCRYPTED_TIMESTAMP"
            case .bytes: return "ENCRYPTED_BYTES"
            case .location: return "ENCRYPTED_LOCATION"
            case .reference, .asset, .unknown: break
            }
        }
        return (isEncrypted ? "ENCRYPTED_" : "") + base.word.description + (isList ? "_LIST" : "")
    }

    /// The tag of a value in an answer (docs/web-services.md §4.2): `STRING`, `ASSETID_LIST`, `UNKNOWN_LIST`.
    ///
    /// Of encrypted types only `ENCRYPTED_BYTES` says so in its tag; the others need `isEncrypted` as well.
    package var wireName: StaticString {
        guard isList else { return isEncrypted && base == .bytes ? "ENCRYPTED_BYTES" : base.word }
        switch base {
        case .string: return "STRING_LIST"
        case .int64: return "INT64_LIST"
        case .double: return "DOUBLE_LIST"
        case .timestamp: return "TIMESTAMP_LIST"
        case .bytes: return "BYTES_LIST"
        case .location: return "LOCATION_LIST"
        case .reference: return "REFERENCE_LIST"
        case .asset: return "ASSETID_LIST"
        case .unknown: return "UNKNOWN_LIST"
        }
    }

    /// A Boolean value that indicates whether `isEncrypted` has to accompany the tag.
    package var needsEncryptedMark: Bool { isEncrypted && !(base == .bytes && !isList) }

    /// Reads the tag of a value: the words of docs/web-services.md §4, `ASSET` for `ASSETID`, `ENCRYPTED_` before any; nil
    /// for other words.
    package init?(word: JSONText) {
        // The words of clients, without making a string.
        switch word {
        case "STRING": self = .string
        case "INT64": self = .int64
        case "DOUBLE": self = .double
        case "TIMESTAMP": self = .timestamp
        case "BYTES": self = .bytes
        case "STRING_LIST": self = .string.list
        case "REFERENCE": self = .reference
        case "LOCATION": self = .location
        case "ASSETID": self = .asset
        default: self.init(word: word.string)
        }
    }

    /// As `init(word:)` for text in a document.
    package init?(word: String) {
        var rest = Substring(word).utf8
        let isEncrypted = rest.starts(with: "ENCRYPTED_".utf8)
        if isEncrypted { rest = rest.dropFirst(10) }
        let isList = rest.suffix(5).elementsEqual("_LIST".utf8)
        if isList { rest = rest.dropLast(5) }
        guard let base = Base(word: Substring(rest)), base != .unknown || isList else { return nil }
        self.init(base, isList: isList, isEncrypted: isEncrypted)
    }
}

extension FieldType.Base {
    /// The tag of a single value.
    package var word: StaticString {
        switch self {
        case .string: "STRING"
        case .int64: "INT64"
        case .double: "DOUBLE"
        case .timestamp: "TIMESTAMP"
        case .bytes: "BYTES"
        case .location: "LOCATION"
        case .reference: "REFERENCE"
        case .asset: "ASSETID"
        case .unknown: "UNKNOWN"
        }
    }

    init?(word: Substring) {
        switch word {
        case "STRING": self = .string
        case "INT64": self = .int64
        case "DOUBLE": self = .double
        case "TIMESTAMP": self = .timestamp
        case "BYTES": self = .bytes
        case "LOCATION": self = .location
        case "REFERENCE": self = .reference
        case "ASSETID", "ASSET": self = .asset
        case "UNKNOWN": self = .unknown
        default: return nil
        }
    }
}
