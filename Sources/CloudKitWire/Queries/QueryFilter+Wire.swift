import CloudKitModel
import JSONBytes

extension QueryFilter {
    init(reading reader: inout JSONReader) throws {
        var comparator: Comparator?
        var name: String?
        var distance: Double?
        var tagged: (value: JSONValue?, tag: JSONReader.Tag) = (nil, JSONReader.Tag())
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try reader.readNull() { continue }
            switch key {
            case "comparator": comparator = try reader.word(Comparator.init(rawValue:))
            case "fieldName", "systemFieldName": name = try reader.string()
            case "fieldValue": tagged = try reader.taggedValue()
            case "distance": distance = try reader.double()
            default: try reader.skipValue()
            }
        }
        guard let comparator else { throw RequestFailure.missing("comparator") }
        self.init(
            key: name.map(QueryKey.init(name:)) ?? .anySearchable, comparator: comparator,
            value: .list(.unknown, []), distance: distance)
        if comparator == .never { return }
        try checkKey()
        value = try readValue(tagged.value, tag: tagged.tag.type)
    }

    /// Only a search for words may do without a key (B-QRY-08).
    private func checkKey() throws(RequestFailure) {
        guard key == .anySearchable else { return }
        guard comparator == .containsAllTokens || comparator == .containsAnyTokens else { throw .missing("fieldName") }
    }

    private func readValue(_ value: JSONValue?, tag: FieldType?) throws -> FieldValue {
        guard let value, !value.isNull else { throw RequestFailure.unexpectedInput }
        let needsTag = comparator == .in || comparator == .notIn
        // The live service reads a list only if its type is given (docs/web-services.md §6.4).
        if needsTag, value.kind != .array || tag == nil { throw RequestFailure.unexpectedInput }
        if case .system(let field) = key { return try field.value(value) }
        return try FieldValue(value, type: try tag ?? FieldType(guessedFrom: value))
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        key.write(to: &writer)
        writer.pair("comparator", comparator.rawValue)
        if comparator != .never, let json = try? value.json() {
            writer.key("fieldValue")
            writer.splice(#"{"value":"#)
            writer.splice(json)
            writer.writeTag(value.type)
            writer.splice("}")
        }
        if let distance {
            writer.key("distance")
            writer.double(distance)
        }
        writer.endObject()
    }
}

extension QuerySort {
    init(reading reader: inout JSONReader) throws {
        self.init(key: .anySearchable)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try reader.readNull() { continue }
            switch key {
            case "fieldName", "systemFieldName": self.key = QueryKey(name: try reader.string())
            case "ascending": ascending = try reader.bool()
            case "relativeLocation": relativeLocation = try Self.location(try reader.value())
            default: try reader.skipValue()
            }
        }
        guard key != .anySearchable else { throw RequestFailure.missing("fieldName") }
    }

    /// A location, bare or with a tag.
    private static func location(_ value: JSONValue) throws -> LocationValue {
        guard value.kind == .object else { throw RequestFailure.invalidValue(expected: .location) }
        var reader = value.reader
        let tagged = try reader.taggedValue().value
        return try LocationValue(tagged ?? value)
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        key.write(to: &writer)
        writer.pair("ascending", ascending)
        if let relativeLocation, let json = try? FieldValue.location(relativeLocation).json() {
            writer.key("relativeLocation")
            writer.splice(json)
        }
        writer.endObject()
    }
}
