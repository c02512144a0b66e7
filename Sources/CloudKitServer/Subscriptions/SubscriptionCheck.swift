import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Checks subscriptions against their database and the schema.
enum SubscriptionCheck {
    /// Returns the subscription as it is stored: zones named by their real owners, "me" by the caller's name.
    ///
    /// Checked in this order: identifier and options (B-SUB-03, B-PSH-06), whether the database has subscriptions of the
    /// kind (B-SUB-01), its zone, its condition, as a query's (B-QRY-15).
    static func accepted(
        _ subscription: Subscription, in place: DatabaseContext, schema: Schema
    ) throws(RequestFailure) -> Subscription {
        try Validity.subscription(subscription)
        var result = subscription
        switch subscription.interest {
        case .query(let query): result.interest = .query(try accepted(query, in: place, schema))
        case .zone(let zoneID, let recordType):
            guard place.scope == .private else { throw .unsupported("Record zone", in: place.scope) }
            let name = try ZoneAccess.zoneName(of: zoneID, in: place)
            guard name != ZoneID.defaultZoneName else {
                throw RequestFailure(
                    .badRequest, "Record zone subscriptions are not supported in the default zone",
                    remedy: "Use a custom zone.")
            }
            result.interest = .zone(place.zoneID(name), recordType: recordType)
        case .database:
            guard place.scope != .public else { throw .unsupported("Database", in: place.scope) }
        }
        return result
    }

    private static func accepted(
        _ query: SubscribedQuery, in place: DatabaseContext, _ schema: Schema
    ) throws(RequestFailure) -> SubscribedQuery {
        guard place.scope != .shared else { throw .unsupported("Query", in: place.scope) }
        var result = query
        result.query = query.query.namingCaller(place.caller)
        result.query.sorts = []
        if let zoneID = query.zoneID { result.zoneID = place.zoneID(try ZoneAccess.zoneName(of: zoneID, in: place)) }
        _ = try SubscribedCondition(result.query, schema: schema, in: place)
        return result
    }
}

extension SubscribedCondition {
    init(_ query: Query, schema: Schema, in place: DatabaseContext) throws(RequestFailure) {
        try self.init(
            query, indexes: schema[query.recordType]?.recordIndexes,
            settings: QuerySettings(container: place.address.container))
    }
}

extension RequestFailure {
    /// B-SUB-01.
    fileprivate static func unsupported(_ kind: String, in scope: DatabaseScope) -> RequestFailure {
        RequestFailure(
            .badRequest, "\(kind) subscriptions are not supported in the \(scope.word) database",
            remedy: scope == .public ? "Use a query subscription." : "Use a database subscription.")
    }

    static let subscriptionNotFound = RequestFailure(.itemNotFound, "Subscription not found")
}
