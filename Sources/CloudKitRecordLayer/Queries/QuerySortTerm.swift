import CloudKitModel
import OrderedStore

/// One key of a query's order.
///
/// Records without a value come first when ascending and last when descending; by distance they come last. Texts are
/// ordered without case, by their first `FoldedText.indexedBytesMax` bytes.
struct QuerySortTerm: Hashable, Sendable {
    let field: IndexedField
    let isAscending: Bool
    /// The point from which distances are measured; nil for an order by value.
    let center: Place?

    /// The bytes that the order compares; of a term without a center, what the ordered index holds.
    ///
    /// - Throws: `internalError` if a stored field was damaged.
    func bytes(of values: IndexedValues) throws -> Bytes {
        let value = try values.value(of: field)
        var key = KeyBuilder(capacity: 32)
        if let center {
            guard case .location(let location) = value else { return Self.noDistance }
            return Self.bytes(ofDistance: Place(location).distance(to: center))
        }
        if value.map({ key.appendIndexed($0) }) != true { key.appendNull() }
        return key.bytes
    }

    static func bytes(ofDistance distance: Double) -> Bytes {
        var key = KeyBuilder(capacity: 9)
        key.append(distance)
        return key.bytes
    }

    static let noDistance = bytes(ofDistance: .infinity)
}

/// The position of a record in the order of a query: its values, then its name, then its zone.
struct SortPosition: Hashable, Sendable {
    /// One for each term; the first alone for the end of all records that share it.
    var values: [Bytes]
    var recordName: String
    var zone: UInt32
    /// The place behind every record with the first of the values.
    var isGroupEnd = false
}

/// The order of a query (B-QRY-12).
struct SortOrder: Hashable, Sendable {
    let terms: [QuerySortTerm]

    /// Record names go the way of the first term, so that an index read in either direction is in this order.
    func precedes(_ left: SortPosition, _ right: SortPosition) -> Bool {
        for (index, (one, other)) in zip(left.values, right.values).enumerated() where one != other {
            return one.lexicographicallyPrecedes(other) == terms[index].isAscending
        }
        if left.isGroupEnd || right.isGroupEnd { return !left.isGroupEnd }
        if left.recordName != right.recordName {
            let isBefore = left.recordName.utf8.lexicographicallyPrecedes(right.recordName.utf8)
            return isBefore == terms[0].isAscending
        }
        return left.zone < right.zone
    }
}
