/// Checks values against the schemas of the API's document.
struct SchemaCheck {
    /// The schemas by their names.
    var components: [String: JSONTree]

    /// Returns the first thing in a value that its schema does not allow; nil for a valid value.
    func problem(_ value: JSONTree, _ schema: JSONTree, at path: String = "$") -> String? {
        if let reference = schema["$ref"]?.text {
            let name = String(reference.split(separator: "/").last ?? "")
            guard let component = components[name] else { return "\(path): there is no schema \(name)" }
            return problem(value, component, at: path)
        }
        if case .array(let choices)? = schema["anyOf"] {
            let problems = choices.map { problem(value, $0, at: path) }
            guard problems.allSatisfy({ $0 != nil }) else { return nil }
            // The problem that lies deepest belongs to the choice that was meant.
            return problems.compactMap { $0 }.max { Self.depth($0) < Self.depth($1) } ?? "\(path): no choice is allowed"
        }
        guard let type = schema["type"]?.text else { return nil }
        guard value.isOfType(type) else { return "\(path): is not of the type \(type): \(value.line.prefix(60))" }
        if case .array(let choices)? = schema["enum"], !choices.contains(where: { $0.line == value.line }) {
            return "\(path): \(value.line) is none of the choices"
        }
        switch value {
        case .scalar: return nil
        case .array(let items):
            guard let schema = schema["items"] else { return nil }
            for (index, item) in items.enumerated() {
                if let problem = problem(item, schema, at: "\(path)[\(index)]") { return problem }
            }
            return nil
        case .object(let pairs): return problem(ofKeys: pairs, schema, at: path)
        }
    }

    private func problem(ofKeys pairs: [(key: String, value: JSONTree)], _ schema: JSONTree, at path: String) -> String?
    {
        if case .array(let required)? = schema["required"] {
            for name in required where !pairs.contains(where: { $0.key == name.line }) {
                return "\(path): \(name.line) is missing"
            }
        }
        for (key, value) in pairs {
            let name = String(key.dropFirst().dropLast())
            if let property = schema["properties"]?[name] {
                if let problem = problem(value, property, at: "\(path).\(name)") { return problem }
            } else if let others = schema["additionalProperties"] {
                if others.line == "false" { return "\(path): \(name) is not documented" }
                if let problem = problem(value, others, at: "\(path).\(name)") { return problem }
            }
        }
        return nil
    }

    private static func depth(_ problem: String) -> Int {
        problem.prefix { $0 != ":" }.count { $0 == "." || $0 == "[" }
    }
}

extension JSONTree {
    /// The value of a key of an object.
    subscript(key: String) -> JSONTree? {
        guard case .object(let pairs) = self else { return nil }
        let quoted = "\"" + key + "\""
        return pairs.first { $0.key == quoted }?.value
    }

    /// The text of a string without escapes.
    var text: String? {
        guard case .scalar(let text) = self, text.hasPrefix("\"") else { return nil }
        return String(text.dropFirst().dropLast())
    }

    /// The keys of an object.
    var keys: [String] {
        guard case .object(let pairs) = self else { return [] }
        return pairs.map { String($0.key.dropFirst().dropLast()) }
    }

    fileprivate func isOfType(_ type: String) -> Bool {
        switch (self, type) {
        case (.object, "object"), (.array, "array"): true
        case (.scalar(let text), "string"): text.hasPrefix("\"")
        case (.scalar(let text), "boolean"): text == "true" || text == "false"
        case (.scalar(let text), "integer"): Int64(text) != nil || UInt64(text) != nil
        case (.scalar(let text), "number"): Double(text) != nil
        default: false
        }
    }
}
