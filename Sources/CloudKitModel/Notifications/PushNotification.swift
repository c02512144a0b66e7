/// One notification on its way to the devices of a user: what the payload says (docs/web-services.md §12.3).
package struct PushNotification: Hashable, Sendable {
    package enum Subject: Hashable, Sendable {
        /// Something happened to a record that a query subscription is about; the zone names its real owner (B-ZN-03).
        case query(RecordChangeNote)
        case zone(ZoneID)
        case database
    }

    /// A change of one record; what was pruned away is nil or empty (B-NTF-06).
    package struct RecordChangeNote: Hashable, Sendable {
        package var recordName: String?
        package var event: RecordEvent
        package var zoneID: ZoneID?
        package var fields: [Field]

        package init(recordName: String?, event: RecordEvent, zoneID: ZoneID?, fields: [Field] = []) {
            self.recordName = recordName
            self.event = event
            self.zoneID = zoneID
            self.fields = fields
        }
    }

    /// The change that the notification is about; several subscriptions that it meets share it. A UUID.
    package var id: String?
    package var container: ContainerID?
    /// Who receives it.
    package var user: UserID
    package var subscriptionID: String
    package var scope: DatabaseScope
    /// nil: notifications were lost, nobody knows which (B-NTF-05).
    package var subject: Subject?
    /// How it presents itself; the localization arguments are values now, not names.
    package var presentation: NotificationInfo
    /// Whether something was left out because there was too much.
    package var isPruned: Bool

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

    /// Says that notifications were lost: whoever follows changes should look for them.
    package static func lost(_ user: UserID, _ container: ContainerID) -> PushNotification {
        PushNotification(
            id: nil, container: container, user: user, subscriptionID: "", scope: .private, subject: nil,
            isPruned: true)
    }
}
