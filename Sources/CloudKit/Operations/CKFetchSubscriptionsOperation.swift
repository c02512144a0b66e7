import CloudKitClient
import CloudKitModel
import Foundation

/// Fetches subscriptions by identifier, or all of the user's in one database.
// Restates what `Operation` declares, see `CKOperation`.
open class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The subscriptions to fetch; not used when the operation fetches all of the database.
    open var subscriptionIDs: [CKSubscription.ID]?

    /// The closure called with the result of each subscription.
    open var perSubscriptionResultBlock: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
    /// The closure called at the end; it fails only when the operation as a whole failed.
    open var fetchSubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)?
    /// The older block for the whole.
    open var fetchSubscriptionCompletionBlock: (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)?

    private var isForAll = false
    private var fetched: [CKSubscription.ID: CKSubscription] = [:]
    private var errors: [AnyHashable: any Error] = [:]

    /// Creates an operation without arguments; set its properties before it is added to a database.
    public required override init() { super.init() }

    /// Creates an operation that fetches subscriptions.
    public convenience init(subscriptionIDs: [CKSubscription.ID]) {
        self.init()
        self.subscriptionIDs = subscriptionIDs
    }

    /// Fetches every subscription of the user in the database.
    open class func fetchAllSubscriptionsOperation() -> Self {
        let operation = self.init()
        operation.isForAll = true
        return operation
    }

    override var longLivedArguments: LongLivedArguments? {
        .fetchSubscriptions(subscriptionIDs ?? [], isForAll: isForAll)
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = requests()
        let ids = subscriptionIDs ?? []
        try RequestLimits.check(items: ids.count)
        let isForAll = isForAll
        return {
            let outcomes: [(String, Result<Subscription, CallFailure>)] =
                isForAll
                ? try await requests.allSubscriptions().map { ($0.id, .success($0)) }
                : try await requests.subscriptions(ids)
            await self.deliver { for (id, result) in outcomes { self.report(id, result) } }
        }
    }

    private func report(_ id: CKSubscription.ID, _ outcome: Result<Subscription, CallFailure>) {
        let result = outcome.asSubscription(id)
        switch result {
        case .success(let subscription): fetched[id] = subscription
        case .failure(let error): errors[id] = error
        }
        perSubscriptionResultBlock?(id, result)
    }

    override func conclude(_ failure: CallFailure?) {
        if let failure {
            let error = CKError(failure)
            fetchSubscriptionCompletionBlock?(fetched, error)
            fetchSubscriptionsResultBlock?(.failure(error))
        } else {
            fetchSubscriptionCompletionBlock?(fetched, CKError.partial(errors, operation: "fetch some subscriptions"))
            fetchSubscriptionsResultBlock?(.success(()))
        }
    }
}
