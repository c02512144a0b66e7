import JSONBytes
import TextEncodings

extension Field {
    /// Creates a field of an encrypted type: its value was sealed by a device, and travels as base64 for every type.
    package init(name: String, type: FieldType, sealed: [UInt8]) {
        var type = type
        type.isEncrypted = true
        var json: [UInt8] = []
        json.reserveCapacity(sealed.count / 3 * 4 + 6)
        json.append(UInt8(ascii: "\""))
        sealed.withUnsafeBufferPointer { Base64.encode($0, to: &json) }
        json.append(UInt8(ascii: "\""))
        self.init(name: name, type: type, json: json)
    }

    /// The sealed bytes of an encrypted field; nil for other fields, and where its value is not base64.
    package var sealed: [UInt8]? {
        let quote = UInt8(ascii: "\"")
        guard type.isEncrypted, json.count >= 2, json.first == quote, json.last == quote else { return nil }
        return json[1..<(json.count - 1)].withUnsafeBufferPointer { Base64.decode($0) }
    }

    /// The key epoch of a sealed value; nil where the value is not in sealed form.
    package var sealedEpoch: UInt32? { sealed.flatMap(SealedForm.epoch(of:)) }

    /// The JSON of a sealed value as it came: canonical base64, or unchanged where it is not base64. Code that relies
    /// on the form uses `sealed`, so that one bad value does not make a whole body unreadable.
    static func sealedJSON(_ value: JSONValue) -> [UInt8] {
        var json: [UInt8] = []
        json.reserveCapacity(value.bytes.count)
        do {
            try CanonicalJSON.append(value, as: .bytes, to: &json)
            return json
        } catch {
            return Array(value.bytes)
        }
    }

    /// The field as one of the schema's encrypted type; nil if it cannot be one.
    ///
    /// A device seals the type it knows: a whole number in a field of doubles, an empty list of it does not know what.
    func sealed(as target: FieldType) -> Field? {
        var target = target
        target.isGuess = false
        guard type.isGuess else {
            return type.isEncrypted && target.sealedAs.contains(type)
                ? Field(name: name, type: target, json: json) : nil
        }
        // Without a tag a base64 string is all there is to see (docs/web-services.md §4.1).
        guard type == FieldType(.string, isEncrypted: type.isEncrypted, isGuess: true) else { return nil }
        return try? withJSON(json) { reader in
            Field(name: name, type: target, json: Self.sealedJSON(try reader.value()))
        }
    }
}

extension FieldType {
    /// The types under which a device may have sealed the value of a field of this encrypted type, the likeliest first.
    package var sealedAs: [FieldType] {
        var types = [FieldType(base, isList: isList, isEncrypted: true)]
        if base == .double { types.append(FieldType(.int64, isList: isList, isEncrypted: true)) }
        if isList { types.append(FieldType(.unknown, isList: true, isEncrypted: true)) }
        return types
    }

    /// A Boolean value that indicates whether values of this type can be sealed: the server must see references, and
    /// assets are sealed otherwise (B-ENC-01).
    package var isSealable: Bool {
        switch base {
        case .string, .int64, .double, .timestamp, .bytes, .location: true
        case .unknown: isList
        case .reference, .asset: false
        }
    }
}
