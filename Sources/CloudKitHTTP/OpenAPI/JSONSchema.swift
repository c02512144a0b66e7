/// A schema of JSON values: the part of JSON Schema that the description of the API uses.
indirect enum JSONSchema: Sendable {
    case any
    /// A string; one of the choices where there are some.
    case string(choices: [String] = [], format: String? = nil)
    case integer
    case number
    case boolean
    case list(JSONSchema)
    /// An object with keys of the client's choice.
    case map(JSONSchema)
    /// An object with these keys.
    ///
    /// - Parameter isOpen: Whether it may have others: those that an endpoint passes over.
    case object([Property], isOpen: Bool)
    case either([JSONSchema])
    case component(APIComponent)

    /// A key of an object.
    struct Property: Sendable {
        var name: String
        var schema: JSONSchema
        var isRequired = true
    }

    /// Text without further rules.
    static let text = string()
    /// Bytes in base 64.
    static let base64 = string(format: "byte")
    /// Milliseconds since 1970.
    static let time = integer

    /// Returns an object of an answer, which has these keys and no others; a name that ends in `?` may be left out.
    static func answer(_ properties: KeyValuePairs<String, JSONSchema>) -> JSONSchema {
        .object(Property.list(properties), isOpen: false)
    }

    /// Returns an object of a request, in which other keys are passed over; a name that ends in `?` may be left out.
    static func request(_ properties: KeyValuePairs<String, JSONSchema>) -> JSONSchema {
        .object(Property.list(properties), isOpen: true)
    }

    /// Returns the object with further keys.
    func adding(_ properties: [Property]) -> JSONSchema {
        guard case .object(let own, let isOpen) = self else { return self }
        return .object(own + properties, isOpen: isOpen)
    }
}

extension JSONSchema.Property {
    static func list(_ properties: KeyValuePairs<String, JSONSchema>) -> [JSONSchema.Property] {
        properties.map { name, schema in
            name.hasSuffix("?")
                ? JSONSchema.Property(name: String(name.dropLast()), schema: schema, isRequired: false)
                : JSONSchema.Property(name: name, schema: schema)
        }
    }
}

extension JSONSchema {
    /// The schema in the form of JSON Schema.
    var json: OpenAPIValue {
        switch self {
        case .any: [:]
        case .string(let choices, let format):
            OpenAPIValue(
                ("type", "string"), ("enum", choices.isEmpty ? nil : .list(choices.map { .text($0) })),
                ("format", format.map { .text($0) }))
        case .integer: ["type": "integer"]
        case .number: ["type": "number"]
        case .boolean: ["type": "boolean"]
        case .list(let items): ["type": "array", "items": items.json]
        case .map(let values): ["type": "object", "additionalProperties": values.json]
        case .object(let properties, let isOpen):
            OpenAPIValue(
                ("type", "object"),
                ("properties", .object(properties.map { ($0.name, $0.schema.json) })),
                ("required", Self.required(properties)),
                ("additionalProperties", isOpen ? nil : .flag(false)))
        case .either(let choices): ["anyOf": .list(choices.map(\.json))]
        case .component(let component): ["$ref": .text("#/components/schemas/" + component.rawValue)]
        }
    }

    private static func required(_ properties: [Property]) -> OpenAPIValue? {
        let names = properties.filter(\.isRequired).map { OpenAPIValue.text($0.name) }
        return names.isEmpty ? nil : .list(names)
    }
}
