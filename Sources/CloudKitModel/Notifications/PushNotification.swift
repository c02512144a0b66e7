/// One notification on its way to the devices of a user: the content of the payload (docs/web-services.md §12.3).
package struct PushNotification: Hashable, Sendable {
    /// The kinds of changes that a notification reports.
    package enum Subject: Hashable, Sendable {
        /// Something happened to a record that a query subscription is about; the zone names its real owner (B-ZN-03).
        case query(RecordChangeNote)
        case zone(ZoneID)
        case database
    }

    /// A change of one record; pruned parts are nil or empty (B-NTF-06).
    package struct RecordChangeNote: Hashable, Sendable {
        /// The name of the record; nil if it was pruned away.
        package var recordName: String?
        /// The change.
        package var event: RecordEvent
        /// The zone; nil if it was pruned away.
        package var zoneID: ZoneID?
        /// The fields that the subscription asked for.
        package var fields: [Field]

        /// Creates a value with the given properties.
        package init(recordName: String?, event: RecordEvent, zoneID: ZoneID?, fields: [Field] = []) {
            self.recordName = recordName
            self.event = event
            self.zoneID = zoneID
            self.fields = fields
        }
    }

    /// The change that the notification is about; several subscriptions that it meets share it. A UUID.
    package var id: String?
    /// The container; nil if it was pruned away.
    package var container: ContainerID?
    /// The receiver.
    package var user: UserID
    /// The id of the subscription.
    package var subscriptionID: String
    /// The scope of the database.
    package var scope: DatabaseScope
    /// The change; nil if notifications were lost, and with them their content (B-NTF-05).
    package var subject: Subject?
    /// The presentation of the notification; the localization arguments are values now, not names.
    package var presentation: NotificationInfo
    /// A Boolean value that indicates whether something was left out because there was too much.
    package var isPruned: Bool

    /// Creates a value with the given properties.
    package init(
        id: String?, container: ContainerID?, user: UserID, subscriptionID: String, scope: DatabaseScope,
        subject: Subject?, presentation: NotificationInfo = NotificationInfo(), isPruned: Bool = false
    ) {
        self.id = id
        self.container = container
        self.user = user
        self.subscriptionID = subscriptionID
        self.scope = scope
        self.subject = subject
        self.presentation = presentation
        self.isPruned = isPruned
    }

    /// Returns a notification that others were lost, so that apps look for changes themselves.
    package static func lost(_ user: UserID, _ container: ContainerID) -> PushNotification {
        PushNotification(
            id: nil, container: container, user: user, subscriptionID: "", scope: .private, subject: nil,
            isPruned: true)
    }
}
