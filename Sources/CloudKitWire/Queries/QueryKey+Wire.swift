import CloudKitModel
import JSONBytes

extension QueryKey {
    /// Reads the name of a key: either name of an attribute counts under either JSON key (docs/web-services.md §6.4).
    init(name: String) {
        if let system = SystemField(rawValue: name) {
            self = .system(system)
            return
        }
        // Clients write both `___recordID` and `___recordId`.
        let system = name == "___recordId" ? .recordName : SystemField(schemaName: name)
        self = system.map(QueryKey.system) ?? .field(name)
    }

    func write(to writer: inout JSONWriter) {
        switch self {
        case .field(let name): writer.pair("fieldName", name)
        case .system(let field): writer.pair("systemFieldName", field.rawValue)
        case .anySearchable: break
        }
    }
}

extension QueryKey.SystemField {
    /// Returns the value that an attribute is compared with, out of all the forms that clients send: bare, as a reference,
    /// or wrapped in an object under the attribute's own name. Record names become strings, users and parents references,
    /// times times.
    func value(_ value: JSONValue) throws -> FieldValue {
        guard value.kind == .array else { return try single(value) }
        var values: [FieldValue] = []
        var reader = value.reader
        try reader.array { values.append(try single(try $0.value())) }
        return .list(base, values)
    }

    private var base: FieldType.Base {
        switch self {
        case .recordName: .string
        case .share, .parent, .createdUserRecordName, .modifiedUserRecordName: .reference
        case .createdTimestamp, .modifiedTimestamp: .timestamp
        }
    }

    private func single(_ value: JSONValue) throws -> FieldValue {
        if let wrapped = try wrappedValue(in: value) { return try single(wrapped) }
        switch base {
        case .timestamp: return try FieldValue(value, type: .timestamp)
        case .string:
            return .string(try value.text?.string ?? ReferenceValue(value).recordName)
        default:
            guard let text = value.text else { return .reference(try ReferenceValue(value)) }
            return .reference(ReferenceValue(recordName: text.string))
        }
    }

    /// The value under the attribute's own name, if it is an object that has one.
    private func wrappedValue(in value: JSONValue) throws -> JSONValue? {
        // `{"recordName": "R1"}` is a reference already.
        guard value.kind == .object, self != .recordName else { return nil }
        var result: JSONValue?
        var reader = value.reader
        try reader.object { reader, key in
            let value = try reader.value()
            if key.string == rawValue { result = value }
        }
        return result
    }
}
