import JSONBytes
import TextEncodings

extension Field {
    /// A field that holds `value`, of the type that the value has.
    ///
    /// - Throws: `badRequest` if the value is not one that a field can hold (`FieldValue.json()`).
    package init(name: String, value: FieldValue) throws(RequestFailure) {
        self.init(name: name, type: value.type, json: try value.json())
    }

    /// Reads a value as it came on the wire into canonical JSON. The value of an encrypted type stays as it is:
    /// `sealed`.
    ///
    /// - Parameters:
    ///   - tag: The client's name of the type; nil: it left it out, and the type becomes a guess from the JSON
    ///     (docs/web-services.md §4.1).
    ///   - value: Not null: null removes a field and is not a value.
    /// - Throws: `badRequest`, with `Invalid value, expected type X.` or the text of another demand of the type.
    package init(name: String, tag: FieldType?, value: JSONValue) throws(RequestFailure) {
        let type: FieldType
        if let tag {
            type = tag
        } else {
            type = try FieldType(guessedFrom: value)
        }
        if type.isEncrypted {
            self.init(name: name, type: type, json: Self.sealedJSON(value))
            return
        }
        var json: [UInt8] = []
        json.reserveCapacity(value.bytes.count)
        if type.isList {
            try CanonicalJSON.appendList(value, of: type.base, to: &json)
        } else {
            try CanonicalJSON.append(value, as: type.base, to: &json)
        }
        self.init(name: name, type: type, json: json)
    }

    /// The value, taken out of its JSON.
    ///
    /// - Throws: `internalError` if the bytes are not canonical JSON of the field's type: they were damaged. Also for an
    ///   encrypted field, whose value only devices see.
    package func value() throws(RequestFailure) -> FieldValue {
        guard !type.isEncrypted else { throw RequestFailure(.internalError, "An encrypted field has no plain value.") }
        if !type.isList, let simple = simpleValue { return simple }
        do {
            return try withJSON(json) { reader in
                let value = try reader.value()
                return try FieldValue(value, type: type)
            }
        } catch {
            throw RequestFailure(.internalError, "A stored field is damaged.")
        }
    }

    /// The value of the types that need no reader; nil where one is needed.
    private var simpleValue: FieldValue? {
        switch type.base {
        case .string:
            guard let text = plainText else { return nil }
            return .string(String(decoding: text, as: UTF8.self))
        case .bytes:
            guard let text = plainText, let bytes = text.withUnsafeBufferPointer({ Base64.decode($0) }) else {
                return nil
            }
            return .bytes(bytes)
        case .int64: return integer.map(FieldValue.int64)
        case .timestamp: return integer.map(FieldValue.timestamp)
        case .double:
            guard let double = json.withUnsafeBufferPointer({ JSONNumber($0)?.double }) else { return nil }
            return .double(double)
        default: return nil
        }
    }

    private var integer: Int64? { json.withUnsafeBufferPointer { JSONNumber($0)?.int64 } }

    /// The inside of a string without escapes; nil if there are any.
    private var plainText: ArraySlice<UInt8>? {
        let quote = UInt8(ascii: "\"")
        guard json.count >= 2, json.first == quote, json.last == quote, !json.contains(UInt8(ascii: "\\")) else {
            return nil
        }
        return json[1..<(json.count - 1)]
    }

    /// Returns the field as one of the schema's type; nil if it cannot be one (B-REC-11).
    ///
    /// A tag states the client's intention and must agree, but a tagged whole number is a double too, and an empty list
    /// is a list of any type. Without a tag the schema decides as far as the JSON allows (docs/web-services.md §4.1):
    /// whole numbers are doubles or timestamps, base64 strings are bytes, digits in a string are numbers.
    package func coerced(to target: FieldType) -> Field? {
        if target.isEncrypted { return sealed(as: target) }
        // A field that is marked as encrypted cannot become plain.
        guard !type.isEncrypted, type.isList == target.isList else { return nil }
        var target = target
        target.isGuess = false
        if type.base == target.base || isEmptyList { return Field(name: name, type: target, json: json) }
        guard canTry(target.base) else { return nil }
        return try? withJSON(json) { reader in
            try Field(name: name, tag: target, value: try reader.value())
        }
    }

    /// A Boolean value that indicates whether this is a list without elements, whose type cannot be seen in its JSON.
    package var isEmptyList: Bool { type.isList && (type.isEncrypted ? type.base == .unknown : json.count == 2) }

    private func canTry(_ target: FieldType.Base) -> Bool {
        switch (type.base, target) {
        case (.int64, .double): true
        case (.int64, .timestamp), (.double, .timestamp), (.double, .int64): type.isGuess
        case (.string, .bytes), (.string, .int64), (.string, .double): type.isGuess
        default: false
        }
    }

    /// The references that the field holds, in order; none for other types.
    ///
    /// - Throws: `internalError` if the bytes were damaged.
    package func references() throws(RequestFailure) -> [ReferenceValue] {
        guard type.base == .reference else { return [] }
        switch try value() {
        case .reference(let reference): return [reference]
        case .list(_, let values):
            return values.compactMap { if case .reference(let reference) = $0 { reference } else { nil } }
        default: return []
        }
    }

    /// The assets that the field holds, in order; none for other types.
    ///
    /// - Throws: `internalError` if the bytes were damaged.
    package func assets() throws(RequestFailure) -> [AssetValue] {
        guard type.base == .asset else { return [] }
        switch try value() {
        case .asset(let asset): return [asset]
        case .list(_, let values):
            return values.compactMap { if case .asset(let asset) = $0 { asset } else { nil } }
        default: return []
        }
    }

    /// The field with other assets, of which there must be as many as before.
    package func with(_ assets: [AssetValue]) throws(RequestFailure) -> Field {
        var result = self
        if type.isList {
            result.json = try FieldValue.list(.asset, assets.map { .asset($0) }).json()
        } else if let asset = assets.first {
            result.json = try FieldValue.asset(asset).json()
        }
        return result
    }

    /// The field with the zone left out of each reference that points into `zone`, where it says nothing: so the stored
    /// form does not depend on how its writer names the owner.
    ///
    /// - Throws: `badRequest` for a reference into another zone (B-REF-01).
    package func withReferences(within zone: ZoneID, caller: UserID) throws(RequestFailure) -> Field {
        guard type.base == .reference else { return self }
        var result = self
        result.json = try FieldValue.localJSON(try value(), within: zone, caller: caller)
        return result
    }
}

extension FieldValue {
    fileprivate static func localJSON(
        _ value: FieldValue, within zone: ZoneID, caller: UserID
    ) throws(RequestFailure) -> [UInt8] {
        switch value {
        case .reference(let reference):
            return try FieldValue.reference(reference.local(within: zone, caller: caller)).json()
        case .list(let base, let values):
            var local: [FieldValue] = []
            for case .reference(let reference) in values {
                local.append(.reference(try reference.local(within: zone, caller: caller)))
            }
            return try FieldValue.list(base, local).json()
        default:
            return try value.json()
        }
    }
}

extension ReferenceValue {
    /// The reference without its zone, which has to be `zone`.
    package func local(within zone: ZoneID, caller: UserID) throws(RequestFailure) -> ReferenceValue {
        guard let target = zoneID else { return self }
        func resolved(_ user: UserID) -> UserID { user.isCaller ? caller : user }
        guard target.zoneName == zone.zoneName, resolved(target.owner) == resolved(zone.owner) else {
            throw RequestFailure(
                .badRequest, "A reference cannot point into another zone.",
                remedy: "Keep records that refer to one another in one zone.")
        }
        return ReferenceValue(recordName: recordName, action: action)
    }
}
