import Foundation

/// One side of a comparison: a key, a constant, a list, a function.
///
/// Foundation's own class has no initializers on Linux; this one replaces it in code that imports CloudKit.
public class NSExpression: NSObject, NSCopying {
    /// The kinds of expressions.
    public enum ExpressionType: UInt, Sendable {
        case constantValue = 0
        case evaluatedObject = 1
        case variable = 2
        case keyPath = 3
        case function = 4
        case unionSet = 5
        case intersectSet = 6
        case minusSet = 7
        case subquery = 13
        case aggregate = 14
        case anyKey = 15
        case block = 19
        case conditional = 20
    }

    /// The kind of the expression.
    public let expressionType: ExpressionType
    /// The key path, the name of the variable or the name of the function.
    private let name: String
    private let parts: [NSExpression]
    /// The constant of an expression that is one; nil for any other, and for the constant `nil`.
    public let constantValue: Any?
    /// The expression as the parser of a format made it; nil for one that an app made.
    package let parsed: (any Sendable)?

    /// Creates an expression.
    ///
    /// - Parameter parsed: The value that the parser of a format made.
    package init(
        _ type: ExpressionType, named name: String = "", parts: [NSExpression] = [], constant: Any? = nil,
        parsed: (any Sendable)? = nil
    ) {
        expressionType = type
        self.name = name
        self.parts = parts
        constantValue = constant
        self.parsed = parsed
        super.init()
    }

    /// Creates an expression for a constant.
    public convenience init(forConstantValue obj: Any?) { self.init(.constantValue, constant: obj) }

    /// Creates an expression for a key path.
    public convenience init(forKeyPath keyPath: String) { self.init(.keyPath, named: keyPath) }

    /// Creates an expression for a variable.
    public convenience init(forVariable string: String) { self.init(.variable, named: string) }

    /// - Parameter subexpressions: `NSExpression`s, or constants.
    public convenience init(forAggregate subexpressions: [Any]) {
        self.init(.aggregate, parts: subexpressions.map(Self.expression))
    }

    /// - Parameters:
    ///   - name: Such as `now` or `distanceToLocation:fromLocation:`.
    ///   - parameters: `NSExpression`s, or constants.
    public convenience init(forFunction name: String, arguments parameters: [Any]) {
        self.init(.function, named: name, parts: parameters.map(Self.expression))
    }

    /// `SELF`.
    public class func expressionForEvaluatedObject() -> NSExpression { NSExpression(.evaluatedObject) }

    private static func expression(_ part: Any) -> NSExpression {
        part as? NSExpression ?? NSExpression(forConstantValue: part)
    }

    /// The key of an expression that is one; empty for any other.
    public var keyPath: String { expressionType == .keyPath ? name : "" }

    /// The name of a variable, without `$`; empty for any other expression.
    public var variable: String { expressionType == .variable ? name : "" }

    /// The name of a function; empty for any other expression.
    public var function: String { expressionType == .function ? name : "" }

    /// The arguments of a function; nil for any other expression.
    public var arguments: [NSExpression]? { expressionType == .function ? parts : nil }

    /// The expressions of a list; empty for any other expression.
    public var collection: Any { expressionType == .aggregate ? parts : [] }

    /// The object to which a key path or a function is applied: the one that is evaluated.
    public var operand: NSExpression { NSExpression(.evaluatedObject) }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    private var behavior: (any PredicateBehavior)? { self as? any PredicateBehavior }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool { behavior?.saysTheSame(as: object) ?? super.isEqual(object) }

    /// The hash value of the contents.
    public override var hash: Int { behavior?.formatText.hashValue ?? super.hash }

    /// A textual form of the value, for logs and debugging.
    public override var description: String { behavior?.formatText ?? super.description }
}
