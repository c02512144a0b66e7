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
        case aggregate = 14
    }

    let side: PredicateExpression

    init(_ side: PredicateExpression) {
        self.side = side
        super.init()
    }

    /// Creates an expression for a constant.
    public convenience init(forConstantValue obj: Any?) {
        self.init(.constant(PredicateValue(obj)))
    }

    /// Creates an expression for a key path.
    public convenience init(forKeyPath keyPath: String) {
        self.init(.key(keyPath))
    }

    /// Creates an expression for a variable.
    public convenience init(forVariable string: String) {
        self.init(.variable(string))
    }

    /// - Parameter subexpressions: `NSExpression`s, or constants.
    public convenience init(forAggregate subexpressions: [Any]) {
        self.init(.aggregate(subexpressions.map(Self.side)))
    }

    /// - Parameters:
    ///   - name: Such as `now` or `distanceToLocation:fromLocation:`.
    ///   - parameters: `NSExpression`s, or constants.
    public convenience init(forFunction name: String, arguments parameters: [Any]) {
        self.init(.function(name, parameters.map(Self.side)))
    }

    /// `SELF`.
    public class func expressionForEvaluatedObject() -> NSExpression {
        NSExpression(.itself)
    }

    private static func side(_ part: Any) -> PredicateExpression {
        (part as? NSExpression)?.side ?? .constant(PredicateValue(part))
    }

    /// The kind of the expression.
    public var expressionType: ExpressionType {
        switch side {
        case .key: .keyPath
        case .itself: .evaluatedObject
        case .constant: .constantValue
        case .aggregate: .aggregate
        case .function: .function
        case .variable: .variable
        case .other: .function
        }
    }

    /// The key of an expression that is one; empty for any other.
    public var keyPath: String {
        if case .key(let key) = side { key } else { "" }
    }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? NSExpression)?.side == side
    }

    /// The hash value of the contents.
    public override var hash: Int { side.text.hashValue }

    /// A textual form of the value, for logs and debugging.
    public override var description: String { side.text }
}
