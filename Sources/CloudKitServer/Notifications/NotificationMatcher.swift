import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Matches a commit against subscriptions before anything is written.
struct NotificationMatcher: Sendable {
    /// A subscription that fires.
    struct Match: Hashable, Sendable {
        let owner: OwnedSubscription
        /// The change for which a query subscription fires; nil for subscriptions that only report that something changed.
        let change: ObservedChange?
        /// The change by which the notification is known.
        let version: UInt64
    }

    private(set) var pendingNotifications: [Match] = []
    /// Subscriptions that went because they fire only once (B-SUB-03).
    private(set) var spent: [OwnedSubscription] = []
    /// The reasons why matching subscriptions did not fire.
    private(set) var dropped: [NotificationDropReason: Int] = [:]

    /// The changes of one zone within one transaction.
    struct Commit: Sendable {
        var zoneName: String
        /// A flag for zones that zone and database subscriptions observe (B-SUB-01).
        var isCustomZone: Bool
        var changes: [ObservedChange]
        /// The zone itself came or went: no record did.
        var isZoneChange = false
        /// The version of the notification where it is not about a single record.
        var version: UInt64
    }

    /// Matches a commit against subscriptions. A zone or database subscription fires once for all of it (B-PSH-10).
    init(_ commit: Commit, subscriptions: [OwnedSubscription], in place: DatabaseContext, schema: Schema) {
        for owner in subscriptions {
            switch owner.subscription.interest {
            case .query(let query): evaluate(query, of: owner, commit: commit, place: place, schema: schema)
            case .zone(let zoneID, let recordType):
                guard zoneID.zoneName == commit.zoneName else { continue }
                evaluate(recordType, of: owner, commit)
            case .database(let recordType): evaluate(recordType, of: owner, commit)
            }
        }
    }

    private mutating func evaluate(_ recordType: String?, of owner: OwnedSubscription, _ commit: Commit) {
        guard commit.isCustomZone else { return }
        if let recordType {
            guard commit.changes.contains(where: { $0.record.recordType == recordType }) else { return }
        } else if commit.changes.isEmpty, !commit.isZoneChange {
            return
        }
        pendingNotifications.append(Match(owner: owner, change: nil, version: commit.version))
    }

    private mutating func evaluate(
        _ query: SubscribedQuery, of owner: OwnedSubscription, commit: Commit, place: DatabaseContext,
        schema: Schema
    ) {
        if let zoneID = query.zoneID, zoneID.zoneName != commit.zoneName { return }
        let changes = commit.changes.filter {
            $0.record.recordType == query.query.recordType && query.firesOn.contains(RecordEvents($0.event))
        }
        if changes.isEmpty { return }
        // Nothing to show and nothing to wake: such a subscription never fires (B-SUB-08).
        guard owner.subscription.notificationInfo != nil else { return drop(.noNotificationInfo) }
        let condition: SubscribedCondition
        do throws(RequestFailure) {
            condition = try SubscribedCondition(query.query, schema: schema, in: place)
        } catch {
            // The schema has changed since: an index is gone.
            return drop(.conditionInvalid)
        }
        for change in changes where (try? condition.holds(for: change.record)) == true {
            guard Self.mayRead(change.record, user: owner.user, place: place, schema: schema) else {
                drop(.accessDenied)
                continue
            }
            pendingNotifications.append(Match(owner: owner, change: change, version: change.version))
            if query.firesOnce {
                spent.append(owner)
                return
            }
        }
    }

    /// Returns whether the receiver may read the record of the notification (B-DB-06).
    private static func mayRead(
        _ record: StoredRecord, user: UserID, place: DatabaseContext, schema: Schema
    ) -> Bool {
        guard place.scope == .public else { return true }
        return schema.refusal(.read, ofType: record.recordType, to: user, creator: record.created.user) == nil
    }

    private mutating func drop(_ reason: NotificationDropReason) { dropped[reason, default: 0] += 1 }
}

/// The reason why a notification was not sent; the words of the log.
package enum NotificationDropReason: String, Hashable, Sendable, CaseIterable {
    /// The subscription has no notification info (B-SUB-08).
    case noNotificationInfo
    /// The schema no longer supports the subscription's condition.
    case conditionInvalid
    /// The subscriber may not read the record.
    case accessDenied
    /// The user has no device but the one that made the change (B-PSH-01).
    case noOtherDevice
    /// It shows nothing, and a push service sends to this device only what does.
    case silent
    /// The push service never takes it.
    case refused
}
