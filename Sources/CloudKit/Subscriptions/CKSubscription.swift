import CloudKitModel
import Foundation
import Synchronization

/// A user's standing wish to hear of changes in one database (B-SUB-02): its three subclasses say of which.
///
/// Notifications reach the app through `CKContainer.remoteNotifications`, which is Welkin's own, and are read by
/// `CKNotification(fromRemoteNotificationDictionary:)`.
// What can be changed sits in a Mutex; a class with subclasses cannot say so to the compiler.
open class CKSubscription: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    public typealias ID = String
    public typealias NotificationInfo = CKNotificationInfo

    /// What a subscription is about; raw values are part of the interface.
    public enum SubscriptionType: Int, Sendable {
        case query = 1
        case recordZone = 2
        case database = 3
    }

    public final let subscriptionID: CKSubscription.ID
    public final let subscriptionType: SubscriptionType
    private let info = Mutex<CKNotificationInfo?>(nil)

    /// How notifications present themselves. Without one a query subscription never fires (B-SUB-08), the others fire
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

    /// What is to be heard of, as it is sent.
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

    open func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKSubscription(subscriptionID, subscriptionType)
        copy.notificationInfo = notificationInfo
        return copy
    }

    open override var description: String {
        "<\(Self.self): \(addressText(of: self)); subscriptionID=\(subscriptionID), subscriptionType=\(subscriptionType)>"
    }

    // MARK: Archiving

    public class var supportsSecureCoding: Bool { true }

    /// One form for all kinds.
    struct Content: Codable {
        var subscriptionID: String
        var type: Int
        var info: CKNotificationInfo.Content?
        var recordType: String?
        var zoneID: CKRecordZoneID.Content?
        var predicate: PredicateTree?
        var options: UInt?

        /// What is left of an archive that holds no subscription: one that the server refuses.
        static let damaged = Content(subscriptionID: "", type: 0)
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

    public required init?(coder: NSCoder) {
        guard let content = Archive.decode(Content.self, from: coder),
            let type = SubscriptionType(rawValue: content.type)
        else { return nil }
        subscriptionID = content.subscriptionID
        subscriptionType = type
        super.init()
        notificationInfo = content.info.flatMap { CKNotificationInfo($0) }
    }

    open func encode(with coder: NSCoder) { Archive.encode(content, into: coder) }
}
