import CoreLocation
import Foundation

/// One key of an order, as a value.
struct SortDescriptorTerm: Sendable, Equatable, Codable {
    /// nil: made from a key path or a comparison that has no name the server knows.
    var key: String?
    var ascending: Bool
    var relativeLocation: CLLocation?

    init(key: String?, ascending: Bool, relativeLocation: CLLocation? = nil) {
        self.key = key
        self.ascending = ascending
        self.relativeLocation = relativeLocation
    }

    init(_ descriptor: NSSortDescriptor) {
        let location = (descriptor as? CKLocationSortDescriptor)?.relativeLocation
        self.init(key: descriptor.key, ascending: descriptor.ascending, relativeLocation: location)
    }

    // MARK: Archiving

    private enum CodingKeys: String, CodingKey {
        case key, ascending, location
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        key = try container.decodeIfPresent(String.self, forKey: .key)
        ascending = try container.decode(Bool.self, forKey: .ascending)
        relativeLocation = try container.decodeIfPresent([Double].self, forKey: .location).flatMap {
            CLLocation(numbers: $0)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(key, forKey: .key)
        try container.encode(ascending, forKey: .ascending)
        try container.encodeIfPresent(relativeLocation?.numbers, forKey: .location)
    }

    /// A descriptor that says the same.
    var descriptor: NSSortDescriptor {
        if let key, let relativeLocation {
            CKLocationSortDescriptor(key: key, relativeLocation: relativeLocation)
        } else {
            KeySortDescriptor(key: key ?? "", ascending: ascending)
        }
    }
}

/// A descriptor that keeps its key.
///
/// Foundation's own knows only key paths here; `NSSortDescriptor(key:ascending:)` makes one of these instead.
final class KeySortDescriptor: NSSortDescriptor {
    let sortKey: String

    init(key: String, ascending: Bool) {
        sortKey = key
        super.init(keyPath: \CKRecord.[field: key], ascending: ascending) { left, right in
            RecordOrder.compare(left, right)
        }
    }

    override var reversedSortDescriptor: Any { KeySortDescriptor(key: sortKey, ascending: !ascending) }

    override func copy(with zone: NSZone? = nil) -> Any { self }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? KeySortDescriptor else { return false }
        return SortDescriptorTerm(self) == SortDescriptorTerm(other)
    }

    override var hash: Int { sortKey.hashValue }

    override var description: String { "(\(sortKey), \(ascending ? "ascending" : "descending"))" }
}

extension CKRecord {
    /// A field or an attribute by name, in the form that a key path can name.
    subscript(field key: String) -> Any? { value(forKeyPath: key) }
}

/// Lets an initialiser return a subclass: only one of a protocol may assign `self`.
public protocol _SortDescriptorFactory {}

extension NSSortDescriptor: _SortDescriptorFactory {}

extension _SortDescriptorFactory where Self: NSSortDescriptor {
    /// An order by a field or an attribute of the record (B-QRY-13).
    public init(key: String?, ascending: Bool) {
        // A subclass of NSSortDescriptor is asked for by name nowhere; its own initialisers would be used.
        self = KeySortDescriptor(key: key ?? "", ascending: ascending) as! Self
    }

    /// An order by one of the record's own attributes, which are optional and so nothing that Foundation compares here.
    @_disfavoredOverload
    public init<Value>(keyPath: KeyPath<CKRecord, Value>, ascending: Bool) {
        // As above.
        self = KeySortDescriptor(key: RecordOrder.name(of: keyPath) ?? "", ascending: ascending) as! Self
    }
}

// Of the protocol and not of the class: two members `key` of one class would confuse the compiler of every client.
extension _SortDescriptorFactory where Self: NSSortDescriptor {
    /// The name of the field or attribute; nil for an order by something that has no such name.
    public var key: String? {
        if let descriptor = self as? KeySortDescriptor {
            return descriptor.sortKey.isEmpty ? nil : descriptor.sortKey
        }
        if let descriptor = self as? CKLocationSortDescriptor {
            return descriptor.sortKey
        }
        return RecordOrder.name(of: keyPath)
    }
}

/// Orders values of fields as the server does; a missing value comes first.
enum RecordOrder {
    /// The name of the attribute that a key path leads to; nil: not one that queries know (B-QRY-13).
    static func name(of keyPath: AnyKeyPath) -> String? {
        switch keyPath {
        case \CKRecord.creationDate: "creationDate"
        case \CKRecord.modificationDate: "modificationDate"
        case \CKRecord.recordID, \CKRecord.recordID.recordName: "recordID"
        case \CKRecord.creatorUserRecordID: "creatorUserRecordID"
        case \CKRecord.lastModifiedUserRecordID: "lastModifiedUserRecordID"
        default: nil
        }
    }

    static func compare(_ left: Any?, _ right: Any?) -> ComparisonResult {
        switch (withoutOptional(left), withoutOptional(right)) {
        case (nil, nil): return .orderedSame
        case (nil, _?): return .orderedAscending
        case (_?, nil): return .orderedDescending
        case (let left?, let right?): return compareValues(left, right)
        }
    }

    private static func compareValues(_ left: Any, _ right: Any) -> ComparisonResult {
        switch (left, right) {
        case (let left as NSString, let right as NSString): order(left as String, right as String)
        case (let left as NSNumber, let right as NSNumber): left.compare(right)
        case (let left as NSDate, let right as NSDate): left.compare(right as Date)
        case (let left as CKRecordID, let right as CKRecordID): order(left.recordName, right.recordName)
        case (let left as CKReference, let right as CKReference):
            order(left.recordID.recordName, right.recordID.recordName)
        default: .orderedSame
        }
    }

    private static func order(_ left: String, _ right: String) -> ComparisonResult {
        left == right ? .orderedSame : left < right ? .orderedAscending : .orderedDescending
    }
}
