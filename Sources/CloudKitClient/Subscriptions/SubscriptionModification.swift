import CloudKitModel

/// A modification of subscriptions before it is sent.
package struct SubscriptionModification: Sendable {
    /// The operations to send.
    package let operations: [SubscriptionOperation]
    /// The items that fail before anything is sent, by the subscription's identifier.
    package let refused: [(id: String, failure: CallFailure)]

    /// - Throws: `CallFailure.limitExceeded`; `.invalidArguments` for a subscription that is named twice.
    package init(
        saving subscriptions: [(id: String, subscription: Result<Subscription, CallFailure>)], deleting ids: [String]
    ) throws(CallFailure) {
        try RequestLimits.check(items: subscriptions.count + ids.count)
        var saved: Set<String> = []
        var operations: [SubscriptionOperation] = []
        var refused: [(id: String, failure: CallFailure)] = []
        for (id, subscription) in subscriptions {
            guard saved.insert(id).inserted else {
                throw .invalidArguments("You can't save the same subscription twice: \(id)")
            }
            switch subscription {
            case .success(let model): operations.append(.create(model))
            case .failure(let failure): refused.append((id, failure))
            }
        }
        var deleted: Set<String> = []
        for id in ids {
            guard !saved.contains(id) else {
                throw .invalidArguments("You can't save and delete the same subscription (\(id)) in a single operation")
            }
            if deleted.insert(id).inserted { operations.append(.delete(id: id)) }
        }
        self.operations = operations
        self.refused = refused
    }
}

/// The outcome of one subscription of a modification.
package struct SubscriptionItemOutcome: Sendable {
    /// The identifier of the subscription.
    package var id: String
    /// The saved subscription; nil for a deletion.
    package var result: Result<Subscription?, CallFailure>
    /// A Boolean value that indicates whether the subscription was to be deleted.
    package var isDeletion: Bool
}

extension DatabaseRequests {
    /// Sends the operations in one request.
    package func modify(_ plan: SubscriptionModification) async throws -> [SubscriptionItemOutcome] {
        let refused = plan.refused.map {
            SubscriptionItemOutcome(id: $0.id, result: .failure($0.failure), isDeletion: false)
        }
        guard !plan.operations.isEmpty else { return refused }
        return refused
            + zip(plan.operations, try await modifySubscriptions(plan.operations)).map { operation, outcome in
                var isDeletion = false
                if case .delete = operation { isDeletion = true }
                return SubscriptionItemOutcome(
                    id: operation.subscriptionID, result: outcome.result, isDeletion: isDeletion)
            }
    }

    /// Fetches subscriptions by identifier, each once.
    package func subscriptions(_ ids: [String]) async throws -> [(String, Result<Subscription, CallFailure>)] {
        var seen: Set<String> = []
        let ids = ids.filter { seen.insert($0).inserted }
        guard !ids.isEmpty else { return [] }
        return zip(ids, try await lookupSubscriptions(ids)).map { id, outcome in (id, outcome.subscription) }
    }

    /// Fetches every subscription of the user in this database.
    package func allSubscriptions() async throws -> [Subscription] {
        try await listSubscriptions().compactMap { try? $0.subscription.get() }
    }
}

extension SubscriptionOutcome {
    fileprivate var result: Result<Subscription?, CallFailure> {
        switch self {
        case .subscription(let subscription): .success(subscription)
        case .deleted: .success(nil)
        case .failed(_, let refusal): .failure(.refused(refusal))
        }
    }

    fileprivate var subscription: Result<Subscription, CallFailure> {
        switch self {
        case .subscription(let subscription): .success(subscription)
        case .deleted: .failure(.refused(RequestFailure(.itemNotFound, "Subscription was deleted")))
        case .failed(_, let refusal): .failure(.refused(refusal))
        }
    }
}
