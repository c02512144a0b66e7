import CloudKitModel
import OrderedStore

/// The plan for answering a query: decided from the query and the indexes of its type alone.
///
/// One index drives: without an order the one likely to find the fewest records, with an order that of its first key.
/// Every condition is then checked on the records themselves. No plan reads a type's records without the index that
/// the query needs: that is the documented error instead (B-QRY-15).
package struct QueryPlan: Hashable, Sendable {
    /// The record type.
    package let recordType: String
    let conditions: [QueryCondition]
    /// nil: the order of the driving index.
    let order: SortOrder?
    /// The best scan for the conditions; the extent if none can be looked up.
    let scan: IndexScan

    /// - Parameter indexes: Of the query's record type; nil if there is no such type.
    /// - Throws: `typeNotFound` (B-QRY-16), `indexMissing` (B-QRY-15), `badRequest` for a filter that does not fit its
    ///   field (B-QRY-06, B-QRY-11), `sizeLimitExceeded` (B-LIM-09). The type is judged first, then filters in their
    ///   order, then sorts.
    package init(
        _ query: Query, indexes: RecordIndexes?, settings: QuerySettings
    ) throws(RequestFailure) {
        guard query.recordType != Self.usersType else {
            throw .systemTypeAsked
        }
        guard let indexes else {
            throw RequestFailure(.typeNotFound, "Did not find record type: \(query.recordType)")
        }
        guard indexes.isQueryable else {
            throw RequestFailure(
                .indexMissing, "Type is not marked indexable: \(query.recordType)",
                remedy: RequestFailure.indexRemedy("recordName", "queryable", of: indexes, settings: settings))
        }
        let check = QueryCheck(indexes: indexes, settings: settings)
        var conditions: [QueryCondition] = []
        for filter in query.filters { conditions.append(try check.condition(filter)) }
        if conditions.isEmpty { try Self.requireNames(indexes, settings) }
        var terms: [QuerySortTerm] = []
        for sort in query.sorts { terms.append(try check.term(sort)) }
        recordType = query.recordType
        self.conditions = conditions
        order = terms.isEmpty ? nil : SortOrder(terms: terms)
        scan = Self.bestScan(conditions, recordType: query.recordType)
    }

    static let usersType = "Users"

    /// A query without filters needs the index of record names, whatever its order (B-QRY-15).
    private static func requireNames(
        _ indexes: RecordIndexes, _ settings: QuerySettings
    ) throws(RequestFailure) {
        let names = indexes[QueryKey.SystemField.recordName.schemaName]
        if names?.usable.contains(.queryable) == true { return }
        throw .notMarked(
            QueryKey.SystemField.recordName.rawValue, "queryable", of: indexes, settings: settings,
            isBuilding: names?.building.contains(.queryable) ?? false)
    }

    private static func bestScan(_ conditions: [QueryCondition], recordType: String) -> IndexScan {
        let scans = scans(conditions, recordType: recordType)
        // A contradiction, such as more than 4 and less than 2.
        if scans.contains(where: \.parts.isEmpty) { return .nothing }
        return scans.min { $0.rank < $1.rank } ?? .extent(recordType)
    }

    /// A scan for each condition that has one; those of one ordered index are taken together, as both ends of BETWEEN.
    static func scans(_ conditions: [QueryCondition], recordType: String) -> [IndexScan] {
        var scans: [IndexScan] = []
        for scan in conditions.compactMap({ IndexScan($0, recordType: recordType) }) {
            let met = scans.indices.lazy.compactMap { index in scans[index].intersection(scan).map { (index, $0) } }
                .first
            if let (index, both) = met { scans[index] = both } else { scans.append(scan) }
        }
        return scans
    }

    /// Whether a record belongs to the results.
    func holds(for record: StoredRecord) throws -> Bool {
        if record.isTombstone || record.recordType != recordType { return false }
        if conditions.isEmpty { return true }
        let values = try IndexedValues(record, names: neededNames)
        return try conditions.allSatisfy { try $0.holds(for: values) }
    }

    private var neededNames: Set<String> { Set(conditions.flatMap { $0.fields.map(\.name) }) }

    /// Returns the position of a record in the order.
    func position(of record: StoredRecord, zone: UInt32, in order: SortOrder) throws -> SortPosition {
        let values = try IndexedValues(record, names: Set(order.terms.map(\.field.name)))
        return SortPosition(
            values: try order.terms.map { try $0.bytes(of: values) }, recordName: record.name, zone: zone)
    }
}

extension RequestFailure {
    /// B-USR-03.
    static let systemTypeAsked = RequestFailure(
        .badRequest, "Can't query system types", remedy: "Look users up by their record names.")
}
