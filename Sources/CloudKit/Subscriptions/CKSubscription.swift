import CloudKitModel
import Foundation
import Synchronization

/// A user's standing wish to hear of changes in one database (B-SUB-02): its three subclasses say of which.
///
/// Notifications reach the app through `CKContainer.remoteNotifications`, which is Welkin's own, and are read by
/// `CKNotification(fromRemoteNotificationDictionary:)`.
// Mutable state is in a Mutex; the compiler cannot check that for a class with subclasses.
open class CKSubscription: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// The identifier of a subscription.
    public typealias ID = String
    /// The content of a subscription’s notifications.
    public typealias NotificationInfo = CKNotificationInfo

    /// The kinds of subscriptions; raw values are part of the interface.
    public enum SubscriptionType: Int, Sendable {
        case query = 1
        case recordZone = 2
        case database = 3
    }

    /// The identifier of the subscription, unique among those of a user in a database.
    public final let subscriptionID: CKSubscription.ID
    /// The kind of the subscription.
    public final let subscriptionType: SubscriptionType
    private let info = Mutex<CKNotificationInfo?>(nil)

    /// The content of the notifications. Without one a query subscription never fires (B-SUB-08), the others fire
    /// silently.
    public final var notificationInfo: CKSubscription.NotificationInfo? {
        get { info.withLock { $0 } }
        set {
            let copy = newValue.map { CKNotificationInfo($0.model) }
            info.withLock { $0 = copy }
        }
    }

    init(_ subscriptionID: String, _ subscriptionType: SubscriptionType) {
        self.subscriptionID = subscriptionID
        self.subscriptionType = subscriptionType
        super.init()
    }

    /// Returns the changes that the subscription is about, as they are sent.
    ///
    /// - Throws: `CKError.invalidArguments` for a condition that CloudKit cannot run (B-QRY-17).
    func interest() throws(CKError) -> Subscription.Interest { .database(recordType: nil) }

    final func model() throws(CKError) -> Subscription {
        Subscription(id: subscriptionID, interest: try interest(), notificationInfo: notificationInfo?.model)
    }

    /// The subscription as the server reports it.
    static func from(_ subscription: Subscription) -> CKSubscription {
        let result: CKSubscription
        switch subscription.interest {
        case .query(let query): result = CKQuerySubscription(query, id: subscription.id)
        case .zone(let zoneID, let recordType):
            result = CKRecordZoneSubscription(
                zoneID: CKRecordZone.ID(zoneID), subscriptionID: subscription.id, recordType: recordType)
        case .database(let recordType):
            result = CKDatabaseSubscription(subscriptionID: subscription.id, recordType: recordType)
        }
        result.notificationInfo = subscription.notificationInfo.map { CKNotificationInfo($0) }
        return result
    }

    /// Returns a copy of the subscription.
    open func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKSubscription(subscriptionID, subscriptionType)
        copy.notificationInfo = notificationInfo
        return copy
    }

    /// Returns a Boolean value that indicates whether another object is the same subscription: of the same kind and identifier, to the same
    /// changes, with the same notifications.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKSubscription, type(of: self) == type(of: other) else { return false }
        guard let mine = try? model(), let others = try? other.model() else { return content == other.content }
        return subscriptionType == other.subscriptionType && mine == others
    }

    /// The hash value of the identifier.
    open override var hash: Int { subscriptionID.hashValue }

    /// A text with the subscription's type and identifier.
    open override var description: String {
        "<\(Self.self): \(addressText(of: self)); subscriptionID=\(subscriptionID), subscriptionType=\(subscriptionType)>"
    }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public class var supportsSecureCoding: Bool { true }

    /// One form for all kinds.
    struct Content: Codable, Equatable {
        var subscriptionID: String
        var type: Int
        var info: CKNotificationInfo.Content?
        var recordType: String?
        var zoneID: CKRecordZoneID.Content?
        var predicate: PredicateTree?
        var options: UInt?

        /// The content for an archive without a valid subscription: the server refuses it.
        private static let damaged = Content(subscriptionID: "", type: 0)

        static func read(_ coder: NSCoder) -> Content {
            if let content = Archive.decode(Content.self, from: coder) { return content }
            Archive.fail(coder)
            return damaged
        }
    }

    var content: Content {
        Content(
            subscriptionID: subscriptionID, type: subscriptionType.rawValue, info: notificationInfo?.content)
    }

    init(_ content: Content, as type: SubscriptionType) {
        subscriptionID = content.subscriptionID
        subscriptionType = type
        super.init()
        notificationInfo = content.info.flatMap { CKNotificationInfo($0) }
    }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public required init?(coder: NSCoder) {
        guard let content = Archive.decode(Content.self, from: coder),
            let type = SubscriptionType(rawValue: content.type)
        else { return nil }
        subscriptionID = content.subscriptionID
        subscriptionType = type
        super.init()
        notificationInfo = content.info.flatMap { CKNotificationInfo($0) }
    }

    /// Archives the subscription.
    open func encode(with coder: NSCoder) { Archive.encode(content, into: coder) }
}
