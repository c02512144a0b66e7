import Foundation

/// A comparison of two expressions.
///
/// Foundation's own class has no initializers on Linux; this one replaces it in code that imports CloudKit.
public class NSComparisonPredicate: NSPredicate {
    /// The members of the left side's list that have to match.
    public enum Modifier: UInt, Sendable {
        case direct = 0
        case all = 1
        case any = 2
    }

    /// The comparison operators.
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

    /// The properties of strings that a comparison ignores.
    public struct Options: OptionSet, Sendable {
        /// The bits of the options.
        public let rawValue: UInt

        /// Creates a set of options from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Ignores case.
        public static let caseInsensitive = Options(rawValue: 1)
        /// Ignores diacritics.
        public static let diacriticInsensitive = Options(rawValue: 2)
        /// Compares strings as they are.
        public static let normalized = Options(rawValue: 4)
    }

    /// The expression on the left of the operator.
    public let leftExpression: NSExpression
    /// The expression on the right of the operator.
    public let rightExpression: NSExpression
    /// The way in which lists are compared.
    public let comparisonPredicateModifier: Modifier
    /// The operator.
    public let predicateOperatorType: Operator
    /// The options of string comparisons.
    public let options: Options
    /// The comparison as the parser of a format made it, which may have operators that no `Operator` names; nil for one that
    /// an app made.
    package let parsed: (any Sendable)?

    /// Creates a comparison of two expressions.
    public convenience init(
        leftExpression lhs: NSExpression, rightExpression rhs: NSExpression, modifier: Modifier, type: Operator,
        options: Options = []
    ) {
        self.init(left: lhs, right: rhs, modifier: modifier, type: type, options: options, parsed: nil)
    }

    /// Creates the comparison of a format.
    package init(
        left: NSExpression, right: NSExpression, modifier: Modifier, type: Operator, options: Options,
        parsed: (any Sendable)?
    ) {
        leftExpression = left
        rightExpression = right
        comparisonPredicateModifier = modifier
        predicateOperatorType = type
        self.options = options
        self.parsed = parsed
        super.init(value: true)
    }

    private var behavior: (any EvaluatedPredicateBehavior)? { self as? any EvaluatedPredicateBehavior }

    /// The predicate as a format string.
    public override var predicateFormat: String { behavior?.formatText ?? "" }

    /// A textual form of the value, for logs and debugging.
    public override var description: String { predicateFormat }

    /// Returns a Boolean value that indicates whether an object meets the predicate.
    public override func evaluate(with object: Any?) -> Bool { behavior?.isMet(by: object) ?? false }

    /// Foundation's copy would be a plain predicate that is always true.
    public override func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool { behavior?.saysTheSame(as: object) ?? super.isEqual(object) }

    /// The hash value of the contents.
    public override var hash: Int { predicateFormat.hashValue }
}
