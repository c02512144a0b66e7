import CloudKitModel

/// The differences of documented web services that concern what a request holds and what its answer lacks.
extension DatabaseRequests {
    private var isNative: Bool { connection.cloud.surface.isNative }

    /// Refuses more items than one request may have; an app then sends the halves.
    func checkItemCount(_ count: Int) throws(CallFailure) {
        let itemsMax = connection.cloud.surface.itemsMax
        guard count > itemsMax else { return }
        throw .limitExceeded(
            "Your request contains \(count) items which is more than the maximum number of items in a single request "
                + "(\(itemsMax))")
    }

    /// Adds to conflicts the record that the service holds, which documented answers lack (B-SAV-07).
    func completed(
        _ outcomes: [RecordOutcome], of request: ModifyRecordsRequest
    ) async throws -> [RecordOutcome] {
        guard !isNative else { return outcomes }
        let names = outcomes.compactMap(\.conflictingName)
        if names.isEmpty { return outcomes }
        let found = try await lookupOnce(
            LookupRecordsRequest(records: names.map { .init(recordName: $0) }, zoneID: request.zoneID))
        let records = Dictionary(
            found.compactMap { outcome in
                if case .record(let record) = outcome { (record.id.recordName, record) } else { nil }
            }, uniquingKeysWith: { first, _ in first })
        return outcomes.map { outcome in
            guard let name = outcome.conflictingName, case .failed(_, var failure) = outcome else { return outcome }
            failure.serverRecord = records[name].map(RequestFailure.Box.init)
            return .failed(recordName: name, failure)
        }
    }

    /// Refuses zones that documented web services cannot make.
    func checkZones(_ operations: [ZoneOperation]) throws(CallFailure) {
        guard !isNative else { return }
        for operation in operations {
            if case .create(let zone, .perZone) = operation {
                throw .beyondWebServices("Zone '\(zone.zoneName)': web services know no encryptionScope of zones")
            }
        }
        try checkItemCount(operations.count)
    }

    /// Refuses subscriptions that documented web services cannot keep as they are.
    func checkSubscriptions(_ operations: [SubscriptionOperation]) throws(CallFailure) {
        guard !isNative else { return }
        for operation in operations {
            guard let subscription = operation.subscription else { continue }
            if let addition = subscription.addition {
                throw .beyondWebServices("Subscription '\(subscription.id)': web services know no \(addition)")
            }
        }
        try checkItemCount(operations.count)
    }
}

extension RecordOutcome {
    /// The name of a record that was not saved because the service holds another version; nil for any other outcome.
    fileprivate var conflictingName: String? {
        guard case .failed(let name, let failure) = self, failure.code == .conflict || failure.code == .recordExists
        else { return nil }
        return name
    }
}

extension Query {
    /// A Boolean value that indicates whether no record can satisfy the query (`FALSEPREDICATE`).
    var matchesNothing: Bool { filters.contains { $0.comparator == .never } }
}

extension SubscriptionOperation {
    /// The subscription to save; nil for a deletion.
    fileprivate var subscription: Subscription? {
        switch self {
        case .create(let subscription), .update(let subscription): subscription
        case .delete: nil
        }
    }
}

extension Subscription {
    /// The part of the subscription that documented web services do not know; nil: none.
    fileprivate var addition: String? {
        switch interest {
        case .zone(_, .some), .database(.some): return "recordType of subscriptions to zones and databases"
        case .zone, .database, .query: break
        }
        guard let info = notificationInfo else { return nil }
        let texts = [
            info.title, info.titleLocalizationKey, info.subtitle, info.subtitleLocalizationKey, info.collapseIDKey,
        ]
        let isPlain = texts.allSatisfy { $0 == nil } && !info.shouldSendMutableContent
        return isPlain ? nil : "title, subtitle, collapseIDKey and shouldSendMutableContent of notifications"
    }
}
