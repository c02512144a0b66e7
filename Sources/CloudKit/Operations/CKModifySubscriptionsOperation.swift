import CloudKitClient
import CloudKitModel
import Foundation

/// Saves and deletes subscriptions; each succeeds or fails on its own.
///
/// Saving a subscription replaces the one with its identifier (B-SUB-05); deleting a missing one is an error (B-SUB-06).
// Restates what `Operation` declares, see `CKOperation`.
open class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The subscriptions to save.
    open var subscriptionsToSave: [CKSubscription]?
    /// The subscriptions to delete.
    open var subscriptionIDsToDelete: [CKSubscription.ID]?

    /// The closure called with the result of each subscription to save.
    open var perSubscriptionSaveBlock: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
    /// The closure called with the result of each subscription to delete.
    open var perSubscriptionDeleteBlock: ((CKSubscription.ID, Result<Void, any Error>) -> Void)?
    /// The closure called at the end; it fails only when the operation as a whole failed.
    open var modifySubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)?
    /// The older block for the whole.
    open var modifySubscriptionsCompletionBlock: (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?

    private var saved: [CKSubscription] = []
    private var deleted: [CKSubscription.ID] = []
    private var errors: [AnyHashable: any Error] = [:]

    /// Creates an operation without arguments; set its properties before it is added to a database or container.
    public override init() { super.init() }

    /// Creates an operation that saves and deletes subscriptions.
    public convenience init(
        subscriptionsToSave: [CKSubscription]? = nil, subscriptionIDsToDelete: [CKSubscription.ID]? = nil
    ) {
        self.init()
        self.subscriptionsToSave = subscriptionsToSave
        self.subscriptionIDsToDelete = subscriptionIDsToDelete
    }

    override var longLivedArguments: LongLivedArguments? {
        .modifySubscriptions(
            saves: (subscriptionsToSave ?? []).map { .init($0) }, deletes: subscriptionIDsToDelete ?? [])
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = requests()
        let plan = try SubscriptionModification(
            saving: subscriptionsToSave ?? [], deleting: subscriptionIDsToDelete ?? [])
        return {
            let outcomes = try await requests.modify(plan)
            await self.deliver { for outcome in outcomes { self.report(outcome) } }
        }
    }

    private func report(_ outcome: SubscriptionItemOutcome) {
        if outcome.isDeletion {
            reportDeletion(outcome.id, outcome.result.map { _ in () }.asError(.deletingSubscription(outcome.id)))
        } else {
            reportSave(outcome.id, outcome.result.asSubscription(outcome.id))
        }
    }

    private func reportSave(_ id: CKSubscription.ID, _ result: Result<CKSubscription, any Error>) {
        switch result {
        case .success(let subscription): saved.append(subscription)
        case .failure(let error): errors[id] = error
        }
        perSubscriptionSaveBlock?(id, result)
    }

    private func reportDeletion(_ id: CKSubscription.ID, _ result: Result<Void, any Error>) {
        switch result {
        case .success: deleted.append(id)
        case .failure(let error): errors[id] = error
        }
        perSubscriptionDeleteBlock?(id, result)
    }

    override func conclude(_ failure: CallFailure?) {
        if let failure {
            let error = CKError(failure)
            modifySubscriptionsCompletionBlock?(saved, deleted, error)
            modifySubscriptionsResultBlock?(.failure(error))
        } else {
            modifySubscriptionsCompletionBlock?(
                saved, deleted, CKError.partial(errors, operation: "modify some subscriptions"))
            modifySubscriptionsResultBlock?(.success(()))
        }
    }
}
