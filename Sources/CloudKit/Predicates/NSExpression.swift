import Foundation

/// One side of a comparison: a key, a constant, a list, a function.
///
/// Foundation's own has no initialisers here; this one takes its place for whoever imports CloudKit.
public class NSExpression: NSObject, NSCopying {
    /// What kind of expression this is.
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

    public convenience init(forConstantValue obj: Any?) {
        self.init(.constant(PredicateValue(obj)))
    }

    public convenience init(forKeyPath keyPath: String) {
        self.init(.key(keyPath))
    }

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

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? NSExpression)?.side == side
    }

    public override var hash: Int { side.text.hashValue }

    public override var description: String { side.text }
}
