import CoreLocation
import Foundation

/// Evaluates a predicate for an object, for apps that test their own records or dictionaries with it.
///
/// It supports more than CloudKit queries (`OR`, `LIKE`, `ENDSWITH`…), as Foundation's predicates do. A condition that
/// it cannot evaluate is false.
struct PredicateEvaluator {
    let object: Any?

    func holds(_ tree: PredicateTree) -> Bool {
        switch tree {
        case .constant(let flag): flag
        case .comparison(let comparison): holds(comparison)
        case .and(let parts): parts.allSatisfy(holds)
        case .or(let parts): parts.contains(where: holds)
        case .not(let part): !holds(part)
        case .opaque, .malformed: false
        }
    }

    private func holds(_ comparison: PredicateTree.Comparison) -> Bool {
        if case .itself = comparison.left, comparison.comparator == .contains, let record = object as? CKRecord {
            return hasToken(of: comparison.right, in: record)
        }
        guard let left = value(of: comparison.left), let right = value(of: comparison.right) else { return false }
        func test(_ left: PredicateValue) -> Bool {
            Self.compare(left, to: right, by: comparison.comparator, options: comparison.options)
        }
        let members = left.elements ?? []
        switch comparison.modifier {
        case .direct: return test(left)
        case .any: return members.contains { test($0) }
        case .all: return members.allSatisfy { test($0) }
        case .none: return !members.contains { test($0) }
        }
    }

    private func hasToken(of expression: PredicateExpression, in record: CKRecord) -> Bool {
        guard case .string(let text)? = value(of: expression) else { return false }
        let words = text.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
        return !Set(words).isDisjoint(with: record.allTokens())
    }

    // MARK: Values

    private func value(of expression: PredicateExpression) -> PredicateValue? {
        switch expression {
        case .key(let key): return PredicateValue(value(forKeyPath: key))
        case .itself: return PredicateValue(object)
        case .constant(let value): return value
        case .aggregate(let parts):
            let values = parts.compactMap { value(of: $0) }
            return values.count == parts.count ? .list(values) : nil
        case .function(let name, let arguments): return function(name, arguments)
        case .variable, .other: return nil
        }
    }

    private func value(forKeyPath path: String) -> Any? {
        switch object {
        case let record as CKRecord: return record.fields.values[path] ?? record.value(forKeyPath: path)
        case let dictionary as [String: Any]: return dictionary[path]
        default: return nil
        }
    }

    private func function(_ name: String, _ arguments: [PredicateExpression]) -> PredicateValue? {
        switch name {
        case "now" where arguments.isEmpty:
            return .date(Date())
        case "distanceToLocation:fromLocation:":
            let places = arguments.compactMap { argument -> CLLocation? in
                if case .location(let location)? = value(of: argument) { location } else { nil }
            }
            return places.count == 2 ? .double(places[0].distance(from: places[1])) : nil
        default:
            return nil
        }
    }

    // MARK: Comparing

    private static func compare(
        _ left: PredicateValue, to right: PredicateValue, by comparator: PredicateComparator, options: String
    ) -> Bool {
        switch comparator {
        case .equal: return equal(left, right, options: options)
        case .notEqual: return !equal(left, right, options: options)
        case .less: return order(left, right) == .orderedAscending
        case .lessOrEqual: return order(left, right).map { $0 != .orderedDescending } ?? false
        case .greater: return order(left, right) == .orderedDescending
        case .greaterOrEqual: return order(left, right).map { $0 != .orderedAscending } ?? false
        case .between:
            guard let bounds = right.elements, bounds.count == 2 else { return false }
            return compare(left, to: bounds[0], by: .greaterOrEqual, options: options)
                && compare(left, to: bounds[1], by: .lessOrEqual, options: options)
        case .in:
            return right.elements?.contains { equal(left, $0, options: options) }
                ?? isPart(left, of: right, options: options)
        case .contains:
            return left.elements?.contains { equal($0, right, options: options) }
                ?? isPart(right, of: left, options: options)
        case .beginsWith: return strings(left, right, options: options).map { $0.hasPrefix($1) } ?? false
        case .endsWith: return strings(left, right, options: options).map { $0.hasSuffix($1) } ?? false
        case .like: return strings(left, right, options: options).map { matches($0, wildcards($1)) } ?? false
        case .matches: return strings(left, right, options: options).map { matches($0, $1) } ?? false
        case .tokenMatches: return false
        }
    }

    private static func equal(_ left: PredicateValue, _ right: PredicateValue, options: String) -> Bool {
        if let (left, right) = strings(left, right, options: options) { return left == right }
        if let left = left.recordName, let right = right.recordName { return left == right }
        if let left = left.number, let right = right.number { return left == right }
        return left == right
    }

    private static func order(_ left: PredicateValue, _ right: PredicateValue) -> ComparisonResult? {
        switch (left, right) {
        case (.string(let left), .string(let right)): return left.compare(right)
        case (.date(let left), .date(let right)): return left.compare(right)
        case (.int(let left), .int(let right)):
            return left < right ? .orderedAscending : left > right ? .orderedDescending : .orderedSame
        default:
            guard let left = left.number, let right = right.number else { return nil }
            return left < right ? .orderedAscending : left > right ? .orderedDescending : .orderedSame
        }
    }

    private static func strings(
        _ left: PredicateValue, _ right: PredicateValue, options: String
    ) -> (String, String)? {
        guard case .string(let left) = left, case .string(let right) = right else { return nil }
        var folding: String.CompareOptions = []
        if options.contains("c") { folding.insert(.caseInsensitive) }
        if options.contains("d") { folding.insert(.diacriticInsensitive) }
        guard !folding.isEmpty else { return (left, right) }
        return (left.folding(options: folding, locale: nil), right.folding(options: folding, locale: nil))
    }

    private static func isPart(_ part: PredicateValue, of whole: PredicateValue, options: String) -> Bool {
        strings(whole, part, options: options).map { $0.contains($1) } ?? false
    }

    private static func wildcards(_ pattern: String) -> String {
        pattern.map { character in
            switch character {
            case "*": ".*"
            case "?": "."
            default: NSRegularExpression.escapedPattern(for: String(character))
            }
        }.joined()
    }

    private static func matches(_ text: String, _ pattern: String) -> Bool {
        guard let expression = try? NSRegularExpression(pattern: "\\A(?:\(pattern))\\z") else { return false }
        let range = NSRange(text.startIndex..., in: text)
        return expression.firstMatch(in: text, range: range) != nil
    }
}

extension PredicateValue {
    fileprivate var elements: [PredicateValue]? {
        if case .list(let values) = self { values } else { nil }
    }

    fileprivate var recordName: String? {
        switch self {
        case .recordID(let id): id.recordName
        case .reference(let reference): reference.recordID.recordName
        default: nil
        }
    }

    fileprivate var number: Double? {
        switch self {
        case .bool(let flag): flag ? 1 : 0
        case .int(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }
}
