import CloudKitModel

/// The condition of a query subscription, ready to be checked on records as they change.
///
/// Conditions that a query refuses are refused here: comparators that do not fit, fields without the index (B-SUB-01,
/// B-QRY-15). A subscription needs no index to be evaluated, but then it could not be saved on the live service.
package struct SubscribedCondition: Hashable, Sendable {
    private let recordType: String
    private let conditions: [QueryCondition]
    private let names: Set<String>

    /// - Parameter indexes: Of the query's record type; nil if there is no such type.
    /// - Throws: `typeNotFound`, `indexMissing`, `badRequest`, `sizeLimitExceeded`, as `QueryPlan.init`.
    package init(_ query: Query, indexes: RecordIndexes?, settings: QuerySettings) throws(RequestFailure) {
        guard query.recordType != QueryPlan.usersType else { throw .systemTypeAsked }
        guard let indexes else {
            throw RequestFailure(.typeNotFound, "Did not find record type: \(query.recordType)")
        }
        let check = QueryCheck(indexes: indexes, settings: settings)
        var conditions: [QueryCondition] = []
        for filter in query.filters { conditions.append(try check.condition(filter)) }
        recordType = query.recordType
        self.conditions = conditions
        names = Set(conditions.flatMap { $0.fields.map(\.name) })
    }

    /// Whether a record, as it is or was, satisfies the condition.
    ///
    /// - Throws: `internalError` if a stored field was damaged.
    package func holds(for record: StoredRecord) throws -> Bool {
        if record.recordType != recordType { return false }
        if conditions.isEmpty { return true }
        let values = try IndexedValues(record, names: names)
        return try conditions.allSatisfy { try $0.holds(for: values) }
    }
}
