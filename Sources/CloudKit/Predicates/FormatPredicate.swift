import Foundation
import FoundationPredicates

// Exported here too: one import that is not would hide the export of the module.
@_exported import class FoundationPredicates.NSComparisonPredicate

/// A constant predicate, or one whose format cannot be read.
///
/// Foundation's own predicate keeps no format here; `NSPredicate(format:)` makes one of these, of `NSComparisonPredicate` or of
/// `FormatCompoundPredicate` instead.
final class FormatPredicate: NSPredicate {
    let tree: PredicateTree

    init(_ tree: PredicateTree) {
        self.tree = tree
        super.init(value: true)
    }

    override var predicateFormat: String { tree.text }

    override var description: String { tree.text }

    /// Evaluates on records, dictionaries and objects with key-value coding of their own; false for what cannot be run.
    override func evaluate(with object: Any?) -> Bool {
        PredicateEvaluator(object: object).holds(tree)
    }

    /// Foundation's copy would be a plain predicate that is always true.
    override func copy(with zone: NSZone? = nil) -> Any { self }

    override func isEqual(_ object: Any?) -> Bool {
        (object as? FormatPredicate)?.tree == tree
    }

    override var hash: Int { tree.text.hashValue }
}

/// A compound predicate that keeps what its format says.
///
/// Apps take it apart as an `NSCompoundPredicate`.
final class FormatCompoundPredicate: NSCompoundPredicate {
    let tree: PredicateTree

    init(_ type: LogicalType, _ parts: [PredicateTree], of tree: PredicateTree) {
        self.tree = tree
        super.init(type: type, subpredicates: parts.map(\.predicate))
    }

    @available(*, unavailable)
    required init?(coder: NSCoder) { nil }

    override var predicateFormat: String { tree.text }

    override var description: String { tree.text }

    override func evaluate(with object: Any?) -> Bool { PredicateEvaluator(object: object).holds(tree) }

    /// Foundation's copy would be a plain predicate that is always true.
    override func copy(with zone: NSZone? = nil) -> Any { self }

    override func isEqual(_ object: Any?) -> Bool {
        (object as? NSPredicate).map { PredicateTree($0) == tree } ?? false
    }

    override var hash: Int { tree.text.hashValue }
}

extension PredicateTree {
    /// The predicate that keeps the tree: a comparison or a compound can be taken apart.
    var predicate: NSPredicate {
        switch self {
        case .comparison(let comparison) where comparison.modifier == .none:
            var positive = comparison
            positive.modifier = .any
            return FormatCompoundPredicate(.not, [.comparison(positive)], of: self)
        case .comparison(let comparison): return NSComparisonPredicate(comparison)
        case .and(let parts): return FormatCompoundPredicate(.and, parts, of: self)
        case .or(let parts): return FormatCompoundPredicate(.or, parts, of: self)
        case .not(let part): return FormatCompoundPredicate(.not, [part], of: self)
        case .constant, .opaque, .malformed: return FormatPredicate(self)
        }
    }
}

/// Lets an initialiser return a subclass: only one of a protocol may assign `self`.
public protocol _PredicateFactory {}

extension NSPredicate: _PredicateFactory {}

extension _PredicateFactory where Self: NSPredicate {
    /// A predicate from its format; a format that cannot be read makes a predicate that says so when a query runs it
    /// (B-QRY-17).
    ///
    /// - Parameter args: For `%@`, `%K`, `%d`, `%f` and their kin, in order: strings, numbers, dates, lists, record IDs,
    ///   references, locations.
    public init(format predicateFormat: String, _ args: Any?...) {
        // A subclass of NSPredicate is asked for by name nowhere; its own initialisers would be used.
        self = PredicateParser.tree(predicateFormat, arguments: args).predicate as! Self
    }

    /// Creates a predicate from a format string and its arguments.
    public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
        // As above.
        self = PredicateParser.tree(predicateFormat, arguments: arguments ?? []).predicate as! Self
    }

    /// - Parameter argList: What `withVaList` makes; it has to fit the format.
    public init(format predicateFormat: String, arguments argList: CVaListPointer) {
        let arguments = VariableArguments.values(for: predicateFormat, in: argList)
        // As above.
        self = PredicateParser.tree(predicateFormat, arguments: arguments).predicate as! Self
    }
}

/// Reads what Foundation deprecates, without a warning: a requirement's witness may be deprecated.
private protocol PredicateText {
    var foundationText: String { get }
}

extension NSPredicate: PredicateText {
    @available(*, deprecated)
    fileprivate var foundationText: String { predicateFormat }
}

extension PredicateTree {
    /// Creates the tree of any predicate.
    init(_ predicate: NSPredicate) {
        switch predicate {
        case let format as FormatPredicate:
            self = format.tree
        case let compound as FormatCompoundPredicate:
            self = compound.tree
        case let comparison as NSComparisonPredicate:
            self = comparison.tree
        case let compound as NSCompoundPredicate:
            self = Self.compound(compound)
        default:
            switch (predicate as any PredicateText).foundationText {
            case "TRUEPREDICATE": self = .constant(true)
            case "FALSEPREDICATE": self = .constant(false)
            default: self = .opaque
            }
        }
    }

    private static func compound(_ predicate: NSCompoundPredicate) -> PredicateTree {
        let parts = predicate.subpredicates.map { PredicateTree($0) }
        switch predicate.compoundPredicateType {
        case .and: return .and(parts)
        case .or: return .or(parts)
        case .not: return parts.first.map { .not($0) } ?? .opaque
        }
    }
}
