import Foundation

extension PredicateTree {
    /// The canonical format, as `predicateFormat` gives it.
    var text: String {
        switch self {
        case .constant(let flag): flag ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison): comparison.text
        case .and(let parts): parts.isEmpty ? "TRUEPREDICATE" : parts.map(\.nestedText).joined(separator: " AND ")
        case .or(let parts): parts.isEmpty ? "FALSEPREDICATE" : parts.map(\.nestedText).joined(separator: " OR ")
        case .not(let part): "NOT \(part.nestedText)"
        case .opaque: "BLOCKPREDICATE"
        case .malformed: "MALFORMEDPREDICATE"
        }
    }

    private var nestedText: String {
        switch self {
        case .and, .or, .not: "(\(text))"
        default: text
        }
    }
}

extension PredicateTree.Comparison {
    var text: String {
        let lead = modifier == .direct ? "" : modifier.rawValue + " "
        let brackets = options.isEmpty ? "" : "[\(options)]"
        return "\(lead)\(left.text) \(comparator.rawValue)\(brackets) \(right.text)"
    }
}

extension PredicateExpression {
    var text: String {
        switch self {
        case .key(let key): key.split(separator: ".").map { Self.escaped(String($0)) }.joined(separator: ".")
        case .itself: "SELF"
        case .constant(let value): value.text
        case .aggregate(let parts): "{\(parts.map(\.text).joined(separator: ", "))}"
        case .function(let name, let arguments): "\(name)(\(arguments.map(\.text).joined(separator: ", ")))"
        case .variable(let name): "$\(name)"
        case .other(let text): text
        }
    }

    /// Returns a key as written in a format; one that is a reserved word is escaped with a `#`.
    private static func escaped(_ key: String) -> String {
        PredicateToken.reservedWords.contains(key.uppercased()) ? "#\(key)" : key
    }
}

extension PredicateValue {
    var text: String {
        switch self {
        case .null: "nil"
        case .string(let text): Self.quoted(text)
        case .bool(let flag): flag ? "1" : "0"
        case .int(let number): String(number)
        case .unsigned(let number): String(number)
        case .double(let number): String(number)
        case .date(let date): "CAST(\(date.timeIntervalSinceReferenceDate), \"NSDate\")"
        case .data(let data): "<\(data.count) bytes>"
        case .location(let location): "<\(location.coordinate.latitude),\(location.coordinate.longitude)>"
        case .recordID(let id): "<CKRecordID \(id.recordName)>"
        case .reference(let reference): "<CKReference \(reference.recordID.recordName)>"
        case .list(let values): "{\(values.map(\.text).joined(separator: ", "))}"
        case .unsupported(let name): "<\(name)>"
        }
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
