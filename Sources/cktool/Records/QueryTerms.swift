import ArgumentParser
import Foundation

/// A filter as it is given: `FIELD OPERATOR VALUE`.
struct FilterTerm: Hashable {
    var wire: JSONTree

    /// Reads a filter.
    ///
    /// - Parameter zone: The time zone of dates that name none.
    /// - Throws: `ValidationError` that says what was expected.
    init(_ text: String, in zone: TimeZone = .current) throws {
        let parts = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true).map(String.init)
        guard parts.count >= 2 else {
            throw ValidationError("The filter '\(text)' is not of the form FIELD OPERATOR VALUE, such as 'plays >= 3'.")
        }
        guard let comparator = Self.comparator(parts[1]) else {
            throw ValidationError(
                "The operator '\(parts[1])' is unknown. Use one of: == != < <= > >= NEAR BEGINS_WITH IN NOT_IN "
                    + "CONTAINS_ALL_TOKENS CONTAINS_ANY_TOKENS LIST_CONTAINS LIST_CONTAINS_ANY LIST_NOT_CONTAINS_ANY")
        }
        let value = parts.count == 3 ? parts[2].trimmingCharacters(in: .whitespaces) : ""
        var filter: [String: JSONTree] = [
            Self.nameKey(parts[0]): .text(parts[0]), "comparator": .text(comparator),
        ]
        if comparator == "NEAR" {
            let numbers = value.split(separator: ",").map { Double($0.trimmingCharacters(in: .whitespaces)) }
            guard (2...3).contains(numbers.count), let latitude = numbers[0], let longitude = numbers[1] else {
                throw ValidationError("The value of NEAR is LATITUDE,LONGITUDE or LATITUDE,LONGITUDE,METRES.")
            }
            filter["fieldValue"] = Self.location(latitude, longitude)
            if numbers.count == 3, let distance = numbers[2] { filter["distance"] = .number(distance) }
        } else {
            filter["fieldValue"] = try Self.value(value, isList: Self.takesList(comparator), in: zone)
        }
        wire = .object(filter)
    }

    private static func comparator(_ text: String) -> String? {
        switch text {
        case "==", "=", "EQUALS": "EQUALS"
        case "!=", "NOT_EQUALS": "NOT_EQUALS"
        case "<", "LESS_THAN": "LESS_THAN"
        case "<=", "LESS_THAN_OR_EQUALS": "LESS_THAN_OR_EQUALS"
        case ">", "GREATER_THAN": "GREATER_THAN"
        case ">=", "GREATER_THAN_OR_EQUALS": "GREATER_THAN_OR_EQUALS"
        case "LIST_NOT_CONTAINS": "NOT_LIST_CONTAINS"
        case "LIST_NOT_CONTAINS_ANY": "NOT_LIST_CONTAINS_ANY"
        case "NEAR", "CONTAINS_ALL_TOKENS", "CONTAINS_ANY_TOKENS", "IN", "NOT_IN", "BEGINS_WITH", "NOT_BEGINS_WITH",
            "LIST_CONTAINS", "LIST_CONTAINS_ANY", "LIST_CONTAINS_ALL", "NOT_LIST_CONTAINS", "NOT_LIST_CONTAINS_ANY",
            "NOT_LIST_CONTAINS_ALL", "LIST_MEMBER_BEGINS_WITH", "NOT_LIST_MEMBER_BEGINS_WITH":
            text
        default: nil
        }
    }

    private static func takesList(_ comparator: String) -> Bool {
        comparator.hasSuffix("IN") || comparator.hasSuffix("_ANY") || comparator.hasSuffix("_ALL")
    }

    /// System fields have a key of their own.
    fileprivate static func nameKey(_ field: String) -> String {
        field.hasPrefix("___") || systemFields.contains(field) ? "systemFieldName" : "fieldName"
    }

    private static let systemFields: Set = [
        "recordName", "share", "parent", "createdUserRecordName", "createdTimestamp", "modifiedTimestamp",
        "modifiedUserRecordName",
    ]

    private static func value(_ text: String, isList: Bool, in zone: TimeZone) throws -> JSONTree {
        if let colon = text.firstIndex(of: ":"), var type = FieldKind(String(text[..<colon])) {
            let rest = String(text[text.index(after: colon)...])
            if type.isList || isList {
                type.isList = true
                let items = try rest.split(separator: ",").map { try typed(String($0), type.scalar, in: zone) }
                return .object(["type": .text(type.wireName), "value": .list(items)])
            }
            return .object(["type": .text(type.wireName), "value": try typed(rest, type.scalar, in: zone)])
        }
        guard isList else { return guessed(text, in: zone) }
        let items = text.split(separator: ",").map { guessed($0.trimmingCharacters(in: .whitespaces), in: zone) }
        let values = items.compactMap { $0["value"] }
        // The wire wants the type of a list: that of its first value.
        let type = items.first?["type"]?.text ?? (values.first?.integer == nil ? "STRING" : "INT64")
        return .object(["type": .text(type + "_LIST"), "value": .list(values)])
    }

    /// Guesses the type: a number, a date, a place, else a string. A whole number is sent without a type, so that the schema decides.
    private static func guessed(_ text: String, in zone: TimeZone) -> JSONTree {
        if let integer = Int64(text) { return .object(["value": .integer(integer)]) }
        if let number = Double(text), number.isFinite { return .object(["type": "DOUBLE", "value": .number(number)]) }
        if let time = TimestampText.milliseconds(text, in: zone) {
            return .object(["type": "TIMESTAMP", "value": .integer(time)])
        }
        let place = text.split(separator: ",").map { Double($0) }
        if place.count == 2, let latitude = place[0], let longitude = place[1] { return location(latitude, longitude) }
        return .object(["type": "STRING", "value": .text(unquoted(text))])
    }

    private static func typed(_ text: String, _ scalar: FieldKind.Scalar, in zone: TimeZone) throws -> JSONTree {
        let value: JSONTree? =
            switch scalar {
            case .string, .bytes: .text(unquoted(text))
            case .int64: Int64(text).map { .integer($0) }
            case .double: Double(text).flatMap { $0.isFinite ? .number($0) : nil }
            case .timestamp: (TimestampText.milliseconds(text, in: zone) ?? Int64(text)).map { .integer($0) }
            case .reference: .object(["recordName": .text(text)])
            case .location:
                if case let parts = text.split(separator: ",").map({ Double($0) }), parts.count == 2,
                    let latitude = parts[0], let longitude = parts[1]
                {
                    location(latitude, longitude)["value"]
                } else {
                    nil
                }
            case .asset: nil
            }
        guard let value else {
            throw ValidationError("'\(text)' is not a value of the type \(FieldKind(scalar: scalar).name).")
        }
        return value
    }

    private static func location(_ latitude: Double, _ longitude: Double) -> JSONTree {
        .object([
            "type": "LOCATION",
            "value": .object(["latitude": .number(latitude), "longitude": .number(longitude)]),
        ])
    }

    /// Quotes around a whole value make an empty string, or one with space at its ends, possible.
    private static func unquoted(_ text: String) -> String {
        guard text.count >= 2, let quote = text.first, quote == "\"" || quote == "'", text.last == quote else {
            return text
        }
        return String(text.dropFirst().dropLast())
    }
}

/// A sort as it is given: `FIELD`, `FIELD ASC` or `FIELD DESC`.
struct SortTerm {
    var wire: JSONTree

    /// Reads a sort.
    ///
    /// - Throws: `ValidationError` that says what was expected.
    init(_ text: String) throws {
        let parts = text.split(separator: " ").map(String.init)
        let direction = parts.count == 2 ? parts[1].uppercased() : "ASC"
        guard let field = parts.first, parts.count <= 2, direction == "ASC" || direction == "DESC" else {
            throw ValidationError("The sort '\(text)' is not of the form 'FIELD', 'FIELD ASC' or 'FIELD DESC'.")
        }
        wire = .object([FilterTerm.nameKey(field): .text(field), "ascending": .flag(direction == "ASC")])
    }
}
