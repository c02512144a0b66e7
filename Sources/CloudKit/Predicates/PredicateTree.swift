import CoreLocation
import Foundation

/// A predicate as a value: what its format says, before anyone asks whether CloudKit can run it.
indirect enum PredicateTree: Sendable, Equatable, Codable {
    case constant(Bool)
    case comparison(Comparison)
    case and([PredicateTree])
    case or([PredicateTree])
    case not(PredicateTree)
    /// `NSPredicate(block:)`, or any other predicate that has no text.
    case opaque
    /// A format that cannot be read. Apple's framework raises; here running the query reports it.
    case malformed(String)

    struct Comparison: Sendable, Equatable, Codable {
        var left: PredicateExpression
        var comparator: PredicateComparator
        var right: PredicateExpression
        var modifier: Modifier = .direct
        /// The letters in brackets after the operator: `c`, `d`, `n`, `l`.
        var options: String = ""

        enum Modifier: String, Sendable, Codable {
            case direct = ""
            case any = "ANY"
            case all = "ALL"
            case none = "NONE"
        }
    }
}

/// The operator of a comparison, with its canonical spelling.
enum PredicateComparator: String, Sendable, Codable, CaseIterable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case between = "BETWEEN"
    case `in` = "IN"
    case contains = "CONTAINS"
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case like = "LIKE"
    case matches = "MATCHES"
    case tokenMatches = "TOKENMATCHES"
}

/// One side of a comparison.
indirect enum PredicateExpression: Sendable, Equatable, Codable {
    /// A key, or several joined by dots.
    case key(String)
    /// `SELF`: the record.
    case itself
    case constant(PredicateValue)
    /// `{a, b, c}`.
    case aggregate([PredicateExpression])
    /// `name(arguments)`, also `distanceToLocation:fromLocation:(…)`.
    case function(String, [PredicateExpression])
    /// `$NAME`.
    case variable(String)
    /// Arithmetic, indexing, subqueries: what can be read but never run; with its text.
    case other(String)
}

/// A constant of a predicate.
enum PredicateValue: Sendable, Equatable {
    case null
    case string(String)
    case bool(Bool)
    case int(Int64)
    case unsigned(UInt64)
    case double(Double)
    case date(Date)
    case data(Data)
    case location(CLLocation)
    case recordID(CKRecordID)
    case reference(CKReference)
    case list([PredicateValue])
    /// An object that no predicate can hold, by the name of its type.
    case unsupported(String)

    /// Takes over an argument of a format.
    init(_ argument: Any?) {
        guard let argument = withoutOptional(argument) else {
            self = .null
            return
        }
        switch argument {
        case is NSNull: self = .null
        case let record as CKRecord: self = .recordID(record.recordID)
        case let id as CKRecordID: self = .recordID(id)
        case let reference as CKReference: self = .reference(reference)
        case let location as CLLocation: self = .location(location)
        case let text as NSString: self = .string(text as String)
        case let number as NSNumber: self.init(number)
        case let date as NSDate: self = .date(date as Date)
        case let data as NSData: self = .data(data as Data)
        case let list as NSArray: self = .list(list.map { PredicateValue($0) })
        case let set as NSSet: self = .list(set.map { PredicateValue($0) })
        case let set as NSOrderedSet: self = .list(set.map { PredicateValue($0) })
        default: self = .unsupported("\(type(of: argument))")
        }
    }

    /// The constant as an app sees it: nil for `nil` and for what a predicate cannot hold.
    var object: Any? {
        switch self {
        case .null, .unsupported: nil
        case .string(let text): text
        case .bool(let flag): NSNumber(value: flag)
        case .int(let number): NSNumber(value: number)
        case .unsigned(let number): NSNumber(value: number)
        case .double(let number): NSNumber(value: number)
        case .date(let date): date
        case .data(let data): data
        case .location(let location): location
        case .recordID(let id): id
        case .reference(let reference): reference
        case .list(let values): values.map { $0.object ?? NSNull() }
        }
    }

    private init(_ number: NSNumber) {
        switch NumberKind(number) {
        case .bool: self = .bool(number.boolValue)
        case .integer: self = .int(number.int64Value)
        case .unsigned: self = Int64(exactly: number.uint64Value).map(Self.int) ?? .unsigned(number.uint64Value)
        case .double: self = .double(number.doubleValue)
        }
    }
}
