import CloudKitModel

/// The outcome of one operation on a subscription, decided before anything is written.
enum SubscriptionDecision: Hashable, Sendable {
    /// It is stored, in place of the one with its identifier if there is one (B-SUB-05).
    case store(Subscription)
    case remove(Subscription)
    case refuse(RequestFailure)

    /// - Parameters:
    ///   - held: The user's subscription under the identifier.
    ///   - count: The number of the user's subscriptions in the database, of which there may be `max`.
    init(_ operation: SubscriptionOperation, held: Subscription?, count: Int, max: Int) {
        switch (operation, held) {
        case (.create(let subscription), nil):
            self =
                count < max
                ? .store(subscription)
                : .refuse(
                    RequestFailure(
                        .itemLimitExceeded, "A user can have \(max) subscriptions in a database",
                        remedy: "Delete subscriptions that are no longer needed."))
        case (.create(let subscription), _?), (.update(let subscription), _?): self = .store(subscription)
        case (.delete, let held?): self = .remove(held)
        // B-SUB-06.
        case (.update, nil), (.delete, nil): self = .refuse(.subscriptionNotFound)
        }
    }
}
