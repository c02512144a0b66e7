import JSONBytes
import TextEncodings

/// Brings the JSON of a value into the one form in which it is stored, checking it on the way.
///
/// Equal values have equal bytes: no needless escapes, the shortest decimals, keys in one order.
enum CanonicalJSON {
    static func append(
        _ value: JSONValue, as base: FieldType.Base, to output: inout [UInt8]
    ) throws(RequestFailure) {
        switch base {
        case .string: try appendString(value, to: &output)
        case .int64: try appendInteger(value, as: .int64, to: &output)
        case .timestamp: try appendInteger(value, as: .timestamp, to: &output)
        case .double: try appendDouble(value, to: &output)
        case .bytes: try appendBytes(value, to: &output)
        case .location: try LocationValue(value).append(to: &output)
        case .reference: try ReferenceValue(value).append(to: &output)
        case .asset: try AssetValue(value).append(to: &output)
        case .unknown: throw .invalidValue(expected: FieldType(base))
        }
    }

    static func appendList(
        _ value: JSONValue, of base: FieldType.Base, to output: inout [UInt8]
    ) throws(RequestFailure) {
        let type = FieldType(base, isList: true)
        guard value.kind == .array else { throw .invalidValue(expected: type) }
        var reader = value.reader
        output.append(UInt8(ascii: "["))
        do {
            try reader.beginArray()
            var isFirst = true
            while try reader.nextElement() {
                guard base != .unknown else { throw RequestFailure.invalidValue(expected: type) }
                if !isFirst { output.append(UInt8(ascii: ",")) }
                isFirst = false
                try append(try reader.value(), as: base, to: &output)
            }
        } catch let failure as RequestFailure {
            throw failure
        } catch {
            throw .invalidValue(expected: type)
        }
        output.append(UInt8(ascii: "]"))
    }

    private static func appendString(_ value: JSONValue, to output: inout [UInt8]) throws(RequestFailure) {
        guard let text = value.text else { throw .invalidValue(expected: .string) }
        if text.isEscaped {
            text.withBytes { JSONWriter.appendString(utf8: $0, to: &output) }
        } else {
            output.append(contentsOf: value.bytes)
        }
    }

    private static func appendInteger(
        _ value: JSONValue, as type: FieldType, to output: inout [UInt8]
    ) throws(RequestFailure) {
        guard let integer = integer(value, orString: type.base == .int64) else { throw .invalidValue(expected: type) }
        if let number = value.number, number.isInteger, integer != 0 {
            output.append(contentsOf: number.bytes)
        } else {
            JSONWriter.appendInt64(integer, to: &output)
        }
    }

    private static func appendDouble(_ value: JSONValue, to output: inout [UInt8]) throws(RequestFailure) {
        let isGood =
            value.number?.appendCanonicalDouble(to: &output)
            ?? value.text?.withBytes { JSONNumber($0)?.appendCanonicalDouble(to: &output) } ?? false
        guard isGood else { throw .invalidValue(expected: .double) }
    }

    private static func appendBytes(_ value: JSONValue, to output: inout [UInt8]) throws(RequestFailure) {
        guard let text = value.text else { throw .invalidValue(expected: .bytes) }
        let isGood = text.withBytes { symbols in
            switch Base64.form(of: symbols) {
            case .invalid: return false
            case .canonical:
                output.append(UInt8(ascii: "\""))
                output.append(contentsOf: symbols)
                output.append(UInt8(ascii: "\""))
            case .valid:
                output.append(UInt8(ascii: "\""))
                Base64.decode(symbols)?.withUnsafeBufferPointer { Base64.encode($0, to: &output) }
                output.append(UInt8(ascii: "\""))
            }
            return true
        }
        guard isGood else { throw .invalidValue(expected: .bytes) }
    }

    /// A whole number; with `orString` also in a string (numbersAsStrings).
    static func integer(_ value: JSONValue, orString: Bool) -> Int64? {
        if let number = value.number { return number.int64 }
        guard orString, let text = value.text else { return nil }
        return text.withBytes { JSONNumber($0)?.int64 }
    }

    /// A number, also in a string (numbersAsStrings).
    static func double(_ value: JSONValue) -> Double? {
        if let number = value.number { return number.double }
        return value.text?.withBytes { JSONNumber($0)?.double } ?? nil
    }
}

extension FieldType {
    /// The guess for a value that came without a tag (docs/web-services.md §4.1).
    ///
    /// - Throws: `badRequest` for a shape that no type has.
    package init(guessedFrom value: JSONValue) throws(RequestFailure) {
        guard value.kind == .array else {
            self.init(try Self.guess(value), isGuess: true)
            return
        }
        self.init(try Self.guessElements(value), isList: true, isGuess: true)
    }

    private static func guess(_ value: JSONValue) throws(RequestFailure) -> Base {
        switch value.kind {
        case .string: return .string
        case .number: return value.number?.isInteger == true && value.number?.int64 != nil ? .int64 : .double
        case .object: return try guessObject(value)
        case .null, .false, .true, .array: throw .unexpectedInput
        }
    }

    private static func guessElements(_ value: JSONValue) throws(RequestFailure) -> Base {
        var reader = value.reader
        var result: Base = .unknown
        do {
            try reader.beginArray()
            while try reader.nextElement() {
                let base = try guess(try reader.value())
                switch (result, base) {
                case (.unknown, _), (.int64, .double): result = base
                case (.double, .int64): break
                case _ where result == base: break
                // Elements of several types: refused when they are read as the first one's.
                default: return result
                }
            }
        } catch let failure as RequestFailure {
            throw failure
        } catch {
            throw .unexpectedInput
        }
        return result
    }

    private static func guessObject(_ value: JSONValue) throws(RequestFailure) -> Base {
        var reader = value.reader
        do {
            try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "latitude": return .location
                case "recordName": return .reference
                case "fileChecksum": return .asset
                default: try reader.skipValue()
                }
            }
        } catch {
            throw .unexpectedInput
        }
        throw .unexpectedInput
    }
}
