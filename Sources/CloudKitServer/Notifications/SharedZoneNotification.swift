import CloudKitModel
import CloudKitRecordLayer

/// A notification of a participant about changes in zones of other users, in the participant's shared database.
struct SharedZoneNotification: Hashable, Sendable {
    /// The types of the records that changed for the participant. Empty for access that was gained or lost: only
    /// subscriptions to every type match that.
    var recordTypes: Set<String>
    /// The device that made the changes.
    var origin: String?
    /// The identifier that all notifications about the same change have.
    var notificationIdentifier: String

    /// Merges a later one, if the same device caused it.
    mutating func merge(_ later: SharedZoneNotification) -> Bool {
        guard origin == later.origin else { return false }
        recordTypes.formUnion(later.recordTypes)
        notificationIdentifier = later.notificationIdentifier
        return true
    }

    /// Returns the notification for a subscription to the shared database; nil if it does not match (B-SUB-01).
    func draft(for subscription: Subscription, of user: UserID, in container: ContainerID) -> NotificationDraft? {
        guard case .database(let recordType) = subscription.interest else { return nil }
        if let recordType, !recordTypes.contains(recordType) { return nil }
        let notification = PushNotification(
            id: notificationIdentifier, container: container, user: user, subscriptionID: subscription.id,
            scope: .shared,
            subject: .database, presentation: subscription.notificationInfo?.withoutArguments ?? NotificationInfo())
        let key = subscription.notificationInfo?.collapseIDKey.map { "collapse/" + $0 }
        return NotificationDraft(
            collapseKey: key ?? "shared/" + subscription.id, origin: origin, payload: notification.payload())
    }
}

extension NotificationInfo {
    /// The texts without arguments: the notification has no record that could provide them.
    fileprivate var withoutArguments: NotificationInfo {
        var result = self
        result.alertLocalizationArgs = alertLocalizationArgs.map { _ in "" }
        result.titleLocalizationArgs = titleLocalizationArgs.map { _ in "" }
        result.subtitleLocalizationArgs = subtitleLocalizationArgs.map { _ in "" }
        return result
    }
}

extension StorageWriter {
    /// Stores the change of which participants will be notified, if there is any. Work must have been promised.
    ///
    /// - Parameter database: Gives the versions; the caller stores it.
    mutating func set(_ change: SharedZoneChange, _ database: inout DatabaseHeader) {
        if change.isEmpty { return }
        for part in change.parts(ofUsers: 500) {
            set(CrossPartitionNotification(version: database.takeVersions(1), content: .sharedChange(part)))
        }
    }
}
