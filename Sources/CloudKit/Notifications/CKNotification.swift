import CloudKitModel
import Foundation

/// What a notification of CloudKit says; its subclass tells of what kind it is.
// All state is set once; a class with subclasses cannot say so to the compiler.
open class CKNotification: NSObject, @unchecked Sendable {
    public typealias ID = CKNotificationID

    /// Raw values are part of the interface.
    public enum NotificationType: Int, Sendable {
        case query = 1
        case recordZone = 2
        case readNotification = 3
        case database = 4
    }

    let content: NotificationContent

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
    public final var containerIdentifier: String? { content.container }
    public final var subscriptionID: CKSubscription.ID? { content.subscriptionID }
    /// Who subscribed, and so who is signed in where this arrives.
    public final var subscriptionOwnerUserRecordID: CKRecord.ID? {
        content.user.flatMap { $0.isEmpty ? nil : CKRecord.ID(recordName: $0) }
    }
    /// Whether something was left out: for size, or because too many notifications waited.
    public final var isPruned: Bool { content.isPruned }

    // MARK: What people see

    public final var alertBody: String? { content.alert.body }
    public final var alertLocalizationKey: String? { content.alert.key }
    public final var alertLocalizationArgs: [String]? { content.alert.arguments }
    public final var alertActionLocalizationKey: String? { content.alert.actionKey }
    public final var alertLaunchImage: String? { content.alert.launchImage }
    public final var title: String? { content.alert.title }
    public final var titleLocalizationKey: String? { content.alert.titleKey }
    public final var titleLocalizationArgs: [String]? { content.alert.titleArguments }
    public final var subtitle: String? { content.alert.subtitle }
    public final var subtitleLocalizationKey: String? { content.alert.subtitleKey }
    public final var subtitleLocalizationArgs: [String]? { content.alert.subtitleArguments }
    public final var badge: NSNumber? { content.alert.badge.map { NSNumber(value: $0) } }
    public final var soundName: String? { content.alert.sound }
    public final var category: String? { content.alert.category }

    /// Names, never what people see or values of fields: those do not belong into logs.
    open override var description: String {
        let parts = [
            "notificationType=\(notificationType)", "notificationID=\(content.id ?? "(null)")",
            "containerIdentifier=\(containerIdentifier ?? "(null)")", "subscriptionID=\(subscriptionID ?? "(null)")",
        ]
        return "<\(Self.self): \(addressText(of: self)); \((parts + details).joined(separator: ", "))>"
    }

    /// What subclasses add to the description.
    var details: [String] { isPruned ? ["isPruned=true"] : [] }
}

/// Lets an initialiser return a subclass: only one of a protocol may assign `self`.
public protocol _NotificationFactory {}

extension CKNotification: _NotificationFactory {}

extension _NotificationFactory where Self: CKNotification {
    /// Reads what came with a remote notification; the result is of the subclass that fits.
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

    public var queryNotificationReason: Reason { note?.reason ?? .recordUpdated }
    /// nil if it was left out for size (B-NTF-06).
    public var recordID: CKRecord.ID? { note?.recordID }
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
    public var recordZoneID: CKRecordZone.ID? { if case .zone(let id) = content.kind { id } else { nil } }
    public var databaseScope: CKDatabase.Scope { content.scope }

    override var details: [String] {
        ["databaseScope=\(databaseScope)"] + (recordZoneID.map { ["recordZoneID=\($0)"] } ?? []) + super.details
    }
}

/// Something changed in a database.
public final class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    public var databaseScope: CKDatabase.Scope { content.scope }

    override var details: [String] { ["databaseScope=\(databaseScope)"] + super.details }
}
