import JSONBytes
import TextEncodings

extension FieldValue {
    /// The type of a field that holds this value.
    package var type: FieldType {
        if case .list(let base, let values) = self {
            return FieldType(values.isEmpty ? base : values[0].base, isList: true)
        }
        return FieldType(base)
    }

    /// The type of a single value; of a list, that of its elements.
    package var base: FieldType.Base {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .timestamp: .timestamp
        case .bytes: .bytes
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .list(let base, _): base
        }
    }

    /// The canonical JSON of the bare value.
    ///
    /// - Throws: `badRequest` for what no field can hold: a double that is not finite, a list of several types or of lists,
    ///   a place that is not on earth, a reference without record name.
    package func json() throws(RequestFailure) -> [UInt8] {
        var output: [UInt8] = []
        try append(to: &output)
        return output
    }

    /// Appends the canonical JSON, as `json()`.
    package func append(to output: inout [UInt8]) throws(RequestFailure) {
        switch self {
        case .string(let value): JSONWriter.appendString(value, to: &output)
        case .int64(let value), .timestamp(let value): JSONWriter.appendInt64(value, to: &output)
        case .double(let value):
            guard value.isFinite else { throw .invalidValue(expected: .double) }
            JSONWriter.appendDouble(value, to: &output)
        case .bytes(let value):
            output.append(UInt8(ascii: "\""))
            value.withUnsafeBufferPointer { Base64.encode($0, to: &output) }
            output.append(UInt8(ascii: "\""))
        case .location(let value): try value.append(to: &output)
        case .reference(let value): try value.append(to: &output)
        case .asset(let value): value.append(to: &output)
        case .list(let base, let values):
            let element = values.first?.base ?? base
            output.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if case .list = value { throw .invalidValue(expected: FieldType(element, isList: true)) }
                guard value.base == element else { throw .invalidValue(expected: FieldType(element, isList: true)) }
                if index > 0 { output.append(UInt8(ascii: ",")) }
                try value.append(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        }
    }

    /// Reads a value as it came on the wire.
    ///
    /// - Throws: `JSONError` or `RequestFailure.badRequest` if it is not of that type.
    package init(_ value: JSONValue, type: FieldType) throws {
        guard type.isList else {
            self = try FieldValue(value, base: type.base)
            return
        }
        guard value.kind == .array else { throw RequestFailure.invalidValue(expected: type) }
        var reader = value.reader
        var values: [FieldValue] = []
        try reader.array { element in values.append(try FieldValue(try element.value(), base: type.base)) }
        guard type.base != .unknown || values.isEmpty else { throw RequestFailure.invalidValue(expected: type) }
        self = .list(type.base, values)
    }

    private init(_ value: JSONValue, base: FieldType.Base) throws {
        let mismatch = RequestFailure.invalidValue(expected: FieldType(base))
        switch base {
        case .string:
            guard let text = value.text else { throw mismatch }
            self = .string(text.string)
        case .int64:
            guard let number = CanonicalJSON.integer(value, orString: true) else { throw mismatch }
            self = .int64(number)
        case .timestamp:
            guard let number = CanonicalJSON.integer(value, orString: false) else { throw mismatch }
            self = .timestamp(number)
        case .double:
            guard let number = CanonicalJSON.double(value) else { throw mismatch }
            self = .double(number)
        case .bytes:
            guard let bytes = value.text?.withBytes({ Base64.decode($0) }) ?? nil else { throw mismatch }
            self = .bytes(bytes)
        case .location: self = .location(try LocationValue(value))
        case .reference: self = .reference(try ReferenceValue(value))
        case .asset: self = .asset(try AssetValue(value))
        case .unknown: throw mismatch
        }
    }

    /// The value as one of another type, where a query may compare them (docs/web-services.md §4.1); nil where it may not.
    ///
    /// Filters may come without tags: whole numbers are doubles and timestamps too, whole doubles integers.
    package func coerced(to base: FieldType.Base) -> FieldValue? {
        switch (self, base) {
        case (.list(_, let values), _):
            var coerced: [FieldValue] = []
            for value in values {
                guard let value = value.coerced(to: base) else { return nil }
                coerced.append(value)
            }
            return .list(base, coerced)
        case _ where self.base == base: return self
        case (.int64(let value), .double): return .double(Double(value))
        case (.int64(let value), .timestamp): return .timestamp(value)
        case (.timestamp(let value), .int64): return .int64(value)
        case (.double(let value), .int64): return Int64(whole: value).map(FieldValue.int64)
        case (.double(let value), .timestamp): return Int64(whole: value).map(FieldValue.timestamp)
        case (.string(let value), .bytes): return Base64.decode(value).map(FieldValue.bytes)
        default: return nil
        }
    }
}

extension RequestFailure {
    /// A value that is not of the type it has to be of.
    package static func invalidValue(expected type: FieldType) -> RequestFailure {
        RequestFailure(.badRequest, "Invalid value, expected type \(type).")
    }

    /// Returns the failure for JSON that is well formed but of another kind than needed.
    package static let unexpectedInput = RequestFailure(.badRequest, "BadRequestException: Unexpected input")
}
