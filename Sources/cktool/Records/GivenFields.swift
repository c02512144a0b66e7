import Foundation

/// The fields of a record as they are given: `{"title": {"type": "stringType", "value": "…"}}`.
struct GivenFields {
    /// A field that is to be sent.
    struct Field {
        var name: String
        /// nil: the schema decides.
        var type: FieldKind?
        var value: JSONTree
    }

    var fields: [Field]

    /// Reads the JSON of the option.
    ///
    /// - Throws: `ToolFailure` that names the field and what was expected.
    init(_ data: Data) throws {
        guard let members = (try? JSONTree(decoding: data))?.object else {
            throw ToolFailure(
                "The fields are not a JSON object of the form {\"NAME\": {\"type\": \"stringType\", \"value\": \"…\"}}."
            )
        }
        fields = try members.sorted { $0.key < $1.key }.map { name, field in
            guard let entry = field.object, Set(entry.keys).isSubset(of: ["type", "value"]), entry["value"] != nil
            else {
                throw ToolFailure(
                    "The field \(name) is not of the form {\"type\": \"stringType\", \"value\": \"…\"}.")
            }
            var type: FieldKind?
            if let typeName = field["type"] {
                guard let known = typeName.text.flatMap({ FieldKind($0) }) else {
                    throw ToolFailure(
                        "The type of the field \(name) is unknown. Use one of: "
                            + FieldKind.Scalar.allCases.map { FieldKind(scalar: $0).name }.joined(separator: ", ")
                            + ", or a list such as stringListType.")
                }
                type = known
            }
            return Field(name: name, type: type, value: entry["value"] ?? .null)
        }
    }

    /// The keys of files that fields of assets name.
    var assetKeys: Set<String> {
        Set(fields.filter { $0.type?.scalar == .asset }.flatMap { $0.value.list ?? [$0.value] }.compactMap(\.text))
    }

    /// Returns the fields as web services take them.
    ///
    /// - Parameter asset: Returns the uploaded file of a key of `--asset-files`.
    func wire(asset: (_ field: String, _ key: String) async throws -> JSONTree) async throws -> JSONTree {
        var wire: [String: JSONTree] = [:]
        for field in fields {
            guard field.value != .null else {
                wire[field.name] = .object(["value": .null])
                continue
            }
            guard let type = field.type else {
                wire[field.name] = .object(["value": field.value])
                continue
            }
            let value: JSONTree
            if type.isList {
                guard let items = field.value.list else { throw Self.unfit(field, type) }
                var converted: [JSONTree] = []
                for item in items { converted.append(try await convert(item, of: field, type, asset)) }
                value = .list(converted)
            } else {
                value = try await convert(field.value, of: field, type, asset)
            }
            wire[field.name] = .object(["type": .text(type.wireName), "value": value])
        }
        return .object(wire)
    }

    private func convert(
        _ value: JSONTree, of field: Field, _ type: FieldKind,
        _ asset: (_ field: String, _ key: String) async throws -> JSONTree
    ) async throws -> JSONTree {
        switch (type.scalar, value) {
        case (.timestamp, .text(let text)):
            guard let time = TimestampText.milliseconds(text) else { throw Self.unfit(field, type) }
            return .integer(time)
        case (.timestamp, .integer), (.int64, .integer), (.double, .integer), (.double, .number), (.string, .text),
            (.bytes, .text), (.reference, .object):
            return value
        case (.reference, .text(let name)): return .object(["recordName": .text(name)])
        case (.location, .object(var members)):
            if case .text(let text)? = members["timestamp"] {
                guard let time = TimestampText.milliseconds(text) else { throw Self.unfit(field, type) }
                members["timestamp"] = .integer(time)
            }
            return .object(members)
        case (.asset, .text(let key)): return try await asset(field.name, key)
        case (.asset, .object(var members)):
            // An asset as a query prints it, which keeps the file.
            if let url = members.removeValue(forKey: "downloadUrl") { members["downloadURL"] = url }
            return .object(members)
        default: throw Self.unfit(field, type)
        }
    }

    private static func unfit(_ field: Field, _ type: FieldKind) -> ToolFailure {
        let expected =
            switch type.scalar {
            case .string: "a string"
            case .int64: "a whole number"
            case .double: "a number"
            case .timestamp: "a time such as \"2026-05-01T10:00:00Z\", \"2026-05-01\" or \"2026-05-01 10:00\""
            case .bytes: "a string in base 64"
            case .location: "an object with latitude and longitude"
            case .reference: "an object with recordName and action"
            case .asset: "a key of --asset-files"
            }
        return ToolFailure(
            "The value of the field \(field.name) is not a \(type.name): it is \(type.isList ? "an array, each value " : "")"
                + expected + ".")
    }
}
