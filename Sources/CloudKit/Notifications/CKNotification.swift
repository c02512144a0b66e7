import CloudKitModel
import Foundation

/// A notification of CloudKit; its subclass says of which kind.
// All state is set once; a class with subclasses cannot say so to the compiler.
open class CKNotification: NSObject, @unchecked Sendable {
    /// The identifier of a notification.
    public typealias ID = CKNotificationID

    /// Raw values are part of the interface.
    public enum NotificationType: Int, Sendable {
        case query = 1
        case recordZone = 2
        case readNotification = 3
        case database = 4
    }

    let content: NotificationContent

    /// The kind of the notification.
    public final let notificationType: NotificationType

    init(_ content: NotificationContent, _ notificationType: NotificationType) {
        self.content = content
        self.notificationType = notificationType
        super.init()
    }

    /// The notification of its kind.
    static func of(_ content: NotificationContent) -> CKNotification {
        switch content.kind {
        case .query: CKQueryNotification(content, .query)
        case .zone: CKRecordZoneNotification(content, .recordZone)
        case .database: CKDatabaseNotification(content, .database)
        }
    }

    /// The same for all notifications about one change.
    public final var notificationID: CKNotification.ID? { content.id.map { CKNotificationID($0) } }
    /// The identifier of the container that the notification comes from.
    public final var containerIdentifier: String? { content.container }
    /// The identifier of the subscription that caused the notification.
    public final var subscriptionID: CKSubscription.ID? { content.subscriptionID }
    /// The user whose subscription caused the notification, and who is signed in on the device that receives it.
    public final var subscriptionOwnerUserRecordID: CKRecord.ID? {
        content.user.flatMap { $0.isEmpty ? nil : CKRecord.ID(recordName: $0) }
    }
    /// A Boolean value that indicates whether parts were left out: for size, or because too many notifications waited.
    public final var isPruned: Bool { content.isPruned }

    // MARK: What people see

    /// The text of the alert.
    public final var alertBody: String? { content.alert.body }
    /// The key of the localized text of the alert.
    public final var alertLocalizationKey: String? { content.alert.key }
    /// The values of the placeholders in the localized text of the alert.
    public final var alertLocalizationArgs: [String]? { content.alert.arguments }
    /// The key of the localized title of the alert’s action button.
    public final var alertActionLocalizationKey: String? { content.alert.actionKey }
    /// The name of the launch image.
    public final var alertLaunchImage: String? { content.alert.launchImage }
    /// The title of the notification.
    public final var title: String? { content.alert.title }
    /// The key of the localized title.
    public final var titleLocalizationKey: String? { content.alert.titleKey }
    /// The values of the placeholders in the localized title.
    public final var titleLocalizationArgs: [String]? { content.alert.titleArguments }
    /// The subtitle of the notification.
    public final var subtitle: String? { content.alert.subtitle }
    /// The key of the localized subtitle.
    public final var subtitleLocalizationKey: String? { content.alert.subtitleKey }
    /// The values of the placeholders in the localized subtitle.
    public final var subtitleLocalizationArgs: [String]? { content.alert.subtitleArguments }
    /// The number for the badge of the app’s icon.
    public final var badge: NSNumber? { content.alert.badge.map { NSNumber(value: $0) } }
    /// The name of the sound file.
    public final var soundName: String? { content.alert.sound }
    /// The category of the notification’s actions.
    public final var category: String? { content.alert.category }

    /// Contains names, but neither texts for users nor values of fields: those do not belong in logs.
    open override var description: String {
        let parts = [
            "notificationType=\(notificationType)", "notificationID=\(content.id ?? "(null)")",
            "containerIdentifier=\(containerIdentifier ?? "(null)")", "subscriptionID=\(subscriptionID ?? "(null)")",
        ]
        return "<\(Self.self): \(addressText(of: self)); \((parts + details).joined(separator: ", "))>"
    }

    /// The parts that subclasses add to the description.
    var details: [String] { isPruned ? ["isPruned=true"] : [] }
}

/// Lets an initialiser return a subclass: only one of a protocol may assign `self`.
public protocol _NotificationFactory {}

extension CKNotification: _NotificationFactory {}

extension _NotificationFactory where Self: CKNotification {
    /// Creates a notification from the dictionary of a remote notification; the result is of the subclass that fits.
    ///
    /// - Returns: nil for a notification that is not CloudKit's, or not of the class asked for (B-NTF-05).
    public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        guard let content = NotificationContent(notificationDictionary),
            let notification = CKNotification.of(content) as? Self
        else { return nil }
        self = notification
    }
}

/// A record was created, changed or deleted that a query subscription is about.
public final class CKQueryNotification: CKNotification, @unchecked Sendable {
    /// Raw values are part of the interface.
    public enum Reason: Int, Sendable {
        case recordCreated = 1
        case recordUpdated = 2
        case recordDeleted = 3
    }

    private var note: NotificationContent.QueryNote? {
        if case .query(let note) = content.kind { note } else { nil }
    }

    /// The event that caused the notification.
    public var queryNotificationReason: Reason { note?.reason ?? .recordUpdated }
    /// nil if it was left out for size (B-NTF-06).
    public var recordID: CKRecord.ID? { note?.recordID }
    /// The kind of the database that changed.
    public var databaseScope: CKDatabase.Scope { content.scope }

    /// The record's values for the subscription's `desiredKeys`; strings may be cut (B-PSH-06).
    public var recordFields: [String: Any]? {
        note?.fields.map { fields in
            let zoneID = note?.recordID?.zoneID ?? .default
            return fields.mapValues { $0.object(in: zoneID) }
        }
    }

    override var details: [String] {
        ["queryNotificationReason=\(queryNotificationReason)", "databaseScope=\(databaseScope)"]
            + (recordID.map { ["recordID=\($0)"] } ?? []) + super.details
    }
}

/// Something changed in a zone.
public final class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
    /// The zone that changed.
    public var recordZoneID: CKRecordZone.ID? { if case .zone(let id) = content.kind { id } else { nil } }
    /// The kind of the database that changed.
    public var databaseScope: CKDatabase.Scope { content.scope }

    override var details: [String] {
        ["databaseScope=\(databaseScope)"] + (recordZoneID.map { ["recordZoneID=\($0)"] } ?? []) + super.details
    }
}

/// Something changed in a database.
public final class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    /// The kind of the database that changed.
    public var databaseScope: CKDatabase.Scope { content.scope }

    override var details: [String] { ["databaseScope=\(databaseScope)"] + super.details }
}
