import Foundation

/// A comparison of two expressions.
///
/// Foundation's own has no initialisers here; this one takes its place for whoever imports CloudKit.
public class NSComparisonPredicate: NSPredicate {
    /// How many of the left side's members have to pass.
    public enum Modifier: UInt, Sendable {
        case direct = 0
        case all = 1
        case any = 2
    }

    public enum Operator: UInt, Sendable {
        case lessThan = 0
        case lessThanOrEqualTo = 1
        case greaterThan = 2
        case greaterThanOrEqualTo = 3
        case equalTo = 4
        case notEqualTo = 5
        case matches = 6
        case like = 7
        case beginsWith = 8
        case endsWith = 9
        case `in` = 10
        case customSelector = 11
        case contains = 99
        case between = 100
    }

    /// What a comparison of strings ignores.
    public struct Options: OptionSet, Sendable {
        public let rawValue: UInt

        public init(rawValue: UInt) { self.rawValue = rawValue }

        public static let caseInsensitive = Options(rawValue: 1)
        public static let diacriticInsensitive = Options(rawValue: 2)
        public static let normalized = Options(rawValue: 4)
    }

    public let leftExpression: NSExpression
    public let rightExpression: NSExpression
    public let comparisonPredicateModifier: Modifier
    public let predicateOperatorType: Operator
    public let options: Options

    public init(
        leftExpression lhs: NSExpression, rightExpression rhs: NSExpression, modifier: Modifier, type: Operator,
        options: Options = []
    ) {
        leftExpression = lhs
        rightExpression = rhs
        comparisonPredicateModifier = modifier
        predicateOperatorType = type
        self.options = options
        super.init(value: true)
    }

    var tree: PredicateTree {
        guard let comparator = Self.comparators[predicateOperatorType] else { return .opaque }
        let letters = [(Options.caseInsensitive, "c"), (.diacriticInsensitive, "d"), (.normalized, "n")]
        return .comparison(
            PredicateTree.Comparison(
                left: leftExpression.side, comparator: comparator, right: rightExpression.side, modifier: modifier,
                options: letters.filter { options.contains($0.0) }.map(\.1).joined()))
    }

    private var modifier: PredicateTree.Comparison.Modifier {
        switch comparisonPredicateModifier {
        case .direct: .direct
        case .all: .all
        case .any: .any
        }
    }

    private static let comparators: [Operator: PredicateComparator] = [
        .lessThan: .less, .lessThanOrEqualTo: .lessOrEqual, .greaterThan: .greater,
        .greaterThanOrEqualTo: .greaterOrEqual, .equalTo: .equal, .notEqualTo: .notEqual, .matches: .matches,
        .like: .like, .beginsWith: .beginsWith, .endsWith: .endsWith, .in: .in, .contains: .contains,
        .between: .between,
    ]

    public override var predicateFormat: String { tree.text }

    public override var description: String { tree.text }

    public override func evaluate(with object: Any?) -> Bool {
        PredicateEvaluation(object: object).holds(tree)
    }

    /// Foundation's copy would be a plain predicate that is always true.
    public override func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? NSComparisonPredicate)?.tree == tree
    }

    public override var hash: Int { tree.text.hashValue }
}
