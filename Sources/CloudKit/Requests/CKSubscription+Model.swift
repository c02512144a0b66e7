import CloudKitClient
import CloudKitModel

extension SubscriptionModification {
    /// - Throws: As ``init(saving:deleting:)``.
    init(saving subscriptions: [CKSubscription], deleting ids: [CKSubscription.ID]) throws(CallFailure) {
        try self.init(saving: subscriptions.map { ($0.subscriptionID, $0.modelOrFailure) }, deleting: ids)
    }
}

extension CKSubscription {
    /// The subscription as it is sent, or the reason why no server needs to see it.
    fileprivate var modelOrFailure: Result<Subscription, CallFailure> {
        do throws(CKError) {
            return .success(try model())
        } catch {
            return .failure(.invalidArguments(error.localizedDescription))
        }
    }
}

extension Result where Success == Subscription?, Failure == CallFailure {
    /// The saved subscription as the app sees it.
    func asSubscription(_ id: String) -> Result<CKSubscription, any Error> {
        switch self {
        case .success(let subscription?): .success(CKSubscription.from(subscription))
        case .success(nil): .failure(CKError(.answerMalformed(status: 200)))
        case .failure(let failure): .failure(CKError(failure, operation: .savingSubscription(id)))
        }
    }
}

extension Result where Success == Subscription, Failure == CallFailure {
    func asSubscription(_ id: String) -> Result<CKSubscription, any Error> {
        asError(.fetchingSubscription(id)).map { CKSubscription.from($0) }
    }
}
