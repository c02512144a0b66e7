import CloudKitModel
import CloudKitRecordLayer

/// What a participant is to hear of changes in zones of others: the shared database's part of a notification.
struct SharedNews: Hashable, Sendable {
    /// The types of the records that changed for the participant. Of a place that was gained or lost there are none: only
    /// subscriptions to everything hear of that.
    var recordTypes: Set<String>
    /// The device that made the changes.
    var origin: String?
    /// Known by this, as every notification about the same change.
    var noticeID: String

    /// Takes in what came after it, if the same device did that.
    mutating func merge(_ later: SharedNews) -> Bool {
        guard origin == later.origin else { return false }
        recordTypes.formUnion(later.recordTypes)
        noticeID = later.noticeID
        return true
    }

    /// The notification for a subscription to the shared database; nil if the news do not meet it (B-SUB-01).
    func draft(for subscription: Subscription, of user: UserID, in container: ContainerID) -> NotificationDraft? {
        guard case .database(let recordType) = subscription.interest else { return nil }
        if let recordType, !recordTypes.contains(recordType) { return nil }
        let notification = PushNotification(
            id: noticeID, container: container, user: user, subscriptionID: subscription.id, scope: .shared,
            subject: .database, presentation: subscription.notificationInfo?.withoutArguments ?? NotificationInfo())
        let key = subscription.notificationInfo?.collapseIDKey.map { "collapse/" + $0 }
        return NotificationDraft(
            collapseKey: key ?? "shared/" + subscription.id, origin: origin, payload: notification.payload())
    }
}

extension NotificationInfo {
    /// No record goes with the notification: there is nothing to put into its texts.
    fileprivate var withoutArguments: NotificationInfo {
        var result = self
        result.alertLocalizationArgs = alertLocalizationArgs.map { _ in "" }
        result.titleLocalizationArgs = titleLocalizationArgs.map { _ in "" }
        result.subtitleLocalizationArgs = subtitleLocalizationArgs.map { _ in "" }
        return result
    }
}

extension StorageWriter {
    /// Writes down what participants will hear of, if there is anything. Work must have been promised.
    ///
    /// - Parameter database: Gives the versions; the caller stores it.
    mutating func set(_ change: SharedZoneChange, _ database: inout DatabaseHeader) {
        if change.isEmpty { return }
        for part in change.parts(ofUsers: 500) {
            set(CarriedNotification(version: database.takeVersions(1), content: .sharedChange(part)))
        }
    }
}
