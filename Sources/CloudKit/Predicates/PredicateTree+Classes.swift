import Foundation
import FoundationPredicates

// Exported here too: one import that is not would hide the export of the module.
@_exported import class FoundationPredicates.NSComparisonPredicate
@_exported import class FoundationPredicates.NSExpression

// The classes of Foundation's names say the same as trees, and back.

extension NSExpression: PredicateBehavior {
    /// Creates the expression of one side of a parsed comparison.
    convenience init(_ side: PredicateExpression) {
        switch side {
        case .key(let key): self.init(.keyPath, named: key, parsed: side)
        case .itself: self.init(.evaluatedObject, parsed: side)
        case .constant(let value): self.init(.constantValue, constant: value.object, parsed: side)
        case .aggregate(let parts): self.init(.aggregate, parts: parts.map { NSExpression($0) }, parsed: side)
        case .function(let name, let arguments):
            self.init(.function, named: name, parts: arguments.map { NSExpression($0) }, parsed: side)
        case .variable(let name): self.init(.variable, named: name, parsed: side)
        case .other(let text): self.init(.function, named: text, parsed: side)
        }
    }

    /// The expression as a side of a comparison.
    var side: PredicateExpression {
        if let parsed = parsed as? PredicateExpression { return parsed }
        switch expressionType {
        case .keyPath: return .key(keyPath)
        case .evaluatedObject: return .itself
        case .variable: return .variable(variable)
        case .function: return .function(function, (arguments ?? []).map(\.side))
        case .aggregate: return .aggregate((collection as? [NSExpression] ?? []).map(\.side))
        default: return .constant(PredicateValue(constantValue))
        }
    }

    /// The canonical format.
    package var formatText: String { side.text }

    /// Returns a Boolean value that indicates whether another object is an expression that says the same.
    package func saysTheSame(as other: Any?) -> Bool { (other as? NSExpression)?.side == side }
}

extension NSComparisonPredicate: EvaluatedPredicateBehavior {
    /// Creates the predicate of a parsed comparison.
    convenience init(_ comparison: PredicateTree.Comparison) {
        let modifier: Modifier =
            switch comparison.modifier {
            case .direct: .direct
            case .all: .all
            case .any, .none: .any
            }
        self.init(
            left: NSExpression(comparison.left), right: NSExpression(comparison.right), modifier: modifier,
            type: Self.comparators.first { $0.value == comparison.comparator }?.key ?? .customSelector,
            options: Options(
                comparison.options.compactMap { letter in Self.optionLetters.first { $0.1 == String(letter) }?.0 }),
            parsed: comparison)
    }

    /// The predicate as a tree.
    var tree: PredicateTree {
        if let parsed = parsed as? PredicateTree.Comparison { return .comparison(parsed) }
        guard let comparator = Self.comparators[predicateOperatorType] else { return .opaque }
        return .comparison(
            PredicateTree.Comparison(
                left: leftExpression.side, comparator: comparator, right: rightExpression.side, modifier: modifier,
                options: Self.optionLetters.filter { options.contains($0.0) }.map(\.1).joined()))
    }

    private var modifier: PredicateTree.Comparison.Modifier {
        switch comparisonPredicateModifier {
        case .direct: .direct
        case .all: .all
        case .any: .any
        }
    }

    private static let optionLetters = [
        (Options.caseInsensitive, "c"), (.diacriticInsensitive, "d"), (.normalized, "n"),
    ]

    private static let comparators: [Operator: PredicateComparator] = [
        .lessThan: .less, .lessThanOrEqualTo: .lessOrEqual, .greaterThan: .greater,
        .greaterThanOrEqualTo: .greaterOrEqual, .equalTo: .equal, .notEqualTo: .notEqual, .matches: .matches,
        .like: .like, .beginsWith: .beginsWith, .endsWith: .endsWith, .in: .in, .contains: .contains,
        .between: .between,
    ]

    /// The canonical format.
    package var formatText: String { tree.text }

    /// Returns a Boolean value that indicates whether another object is a comparison that says the same.
    package func saysTheSame(as other: Any?) -> Bool { (other as? NSComparisonPredicate)?.tree == tree }

    /// Returns a Boolean value that indicates whether an object meets the comparison.
    package func isMet(by object: Any?) -> Bool { PredicateEvaluator(object: object).holds(tree) }
}
