/// A user's subscription to changes in one database; every device of the user is notified of them (B-SUB-02).
package struct Subscription: Hashable, Sendable {
    /// The changes that a subscription is about, by the words of `subscriptionType`.
    package enum Interest: Hashable, Sendable {
        case query(SubscribedQuery)
        /// Any change in one zone; with a record type, changes of such records only.
        case zone(ZoneID, recordType: String?)
        /// Any change in any custom zone; with a record type, changes of such records only.
        case database(recordType: String?)
    }

    /// Chosen by the app, unique among the user's subscriptions of a database; saving it again replaces it (B-SUB-05).
    package var id: String
    /// The changes that the subscription is about.
    package var interest: Interest
    /// nil: a query subscription then never fires (B-SUB-08), the others fire silently.
    package var notificationInfo: NotificationInfo?

    /// Creates a value with the given properties.
    package init(id: String, interest: Interest, notificationInfo: NotificationInfo? = nil) {
        self.id = id
        self.interest = interest
        self.notificationInfo = notificationInfo
    }
}

/// Records of one type that satisfy a condition.
package struct SubscribedQuery: Hashable, Sendable {
    /// Its order means nothing here.
    package var query: Query
    /// nil: any zone (B-SUB-04).
    package var zoneID: ZoneID?
    /// The events of records that cause a notification.
    package var firesOn: RecordEvents
    /// A Boolean value that indicates whether the subscription is deleted after its first notification (B-SUB-03).
    package var firesOnce: Bool

    /// Creates a value with the given properties.
    package init(query: Query, zoneID: ZoneID? = nil, firesOn: RecordEvents, firesOnce: Bool = false) {
        self.query = query
        self.zoneID = zoneID
        self.firesOn = firesOn
        self.firesOnce = firesOnce
    }
}

/// The kinds of changes to a record; the raw values are those of `CKQueryNotification.Reason` (B-NTF-02).
package enum RecordEvent: Int, Hashable, Sendable, CaseIterable {
    case created = 1
    case updated = 2
    case deleted = 3

    /// The word in `firesOn`.
    package var word: String {
        switch self {
        case .created: "create"
        case .updated: "update"
        case .deleted: "delete"
        }
    }

    /// Creates the event of a word of web services; nil if it is none.
    package init?(word: String) {
        guard let event = Self.allCases.first(where: { $0.word == word }) else { return nil }
        self = event
    }
}

/// Events of records; the raw values are those of `CKQuerySubscription.Options`.
package struct RecordEvents: OptionSet, Hashable, Sendable {
    /// The value as it is stored and sent.
    package let rawValue: UInt8

    /// Creates the value from its stored form.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Creates the set of one event.
    package init(_ event: RecordEvent) { self.init(rawValue: 1 << UInt8(event.rawValue - 1)) }

    /// Records that are created.
    package static let created = RecordEvents(.created)
    /// Records that are updated.
    package static let updated = RecordEvents(.updated)
    /// Records that are deleted.
    package static let deleted = RecordEvents(.deleted)
    /// All events.
    package static let all: RecordEvents = [.created, .updated, .deleted]
}

/// One operation of `subscriptions/modify`.
package enum SubscriptionOperation: Hashable, Sendable {
    /// Creates a subscription, or replaces the one with the same identifier (B-SUB-05).
    case create(Subscription)
    /// Replaces the subscription with the same identifier.
    case update(Subscription)
    case delete(id: String)

    /// The id of the subscription.
    package var subscriptionID: String {
        switch self {
        case .create(let subscription), .update(let subscription): subscription.id
        case .delete(let id): id
        }
    }
}

/// The outcome of one subscription of a request.
package enum SubscriptionOutcome: Hashable, Sendable {
    case subscription(Subscription)
    case deleted(id: String)
    case failed(id: String, RequestFailure)
}
