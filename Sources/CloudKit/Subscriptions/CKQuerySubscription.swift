import CloudKitModel
import Foundation
import Synchronization

/// Hears of records of one type that satisfy a condition, in the public or private database (B-SUB-01).
// As its superclass.
public final class CKQuerySubscription: CKSubscription, @unchecked Sendable {
    /// The events that cause a notification; at least one of creation, update and deletion is needed (B-SUB-03).
    public struct Options: OptionSet, Sendable {
        /// The bits of the options.
        public let rawValue: UInt

        /// Creates a set of options from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Notifies when a matching record is created.
        public static let firesOnRecordCreation = Options(rawValue: 1)
        /// Notifies when a matching record is updated.
        public static let firesOnRecordUpdate = Options(rawValue: 2)
        /// Notifies when a matching record is deleted.
        public static let firesOnRecordDeletion = Options(rawValue: 4)
        /// The subscription is deleted after its first notification.
        public static let firesOnce = Options(rawValue: 8)
    }

    private let type: String
    /// The predicate's content; predicate objects are not safe to share between threads.
    private let tree: PredicateTree
    /// The events that cause a notification.
    public let querySubscriptionOptions: Options
    private let zone = Mutex<CKRecordZone.ID?>(nil)

    /// Creates a subscription to the records of a type that meet a predicate.
    @available(*, deprecated, renamed: "init(recordType:predicate:subscriptionID:options:)")
    public convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate,
        options querySubscriptionOptions: CKQuerySubscription.Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        self.init(
            recordType: recordType, predicate: predicate, subscriptionID: UUID().uuidString,
            options: querySubscriptionOptions)
    }

    /// - Parameters:
    ///   - recordType: The type of the records.
    ///   - predicate: What CloudKit cannot run is reported when the subscription is saved (B-QRY-17).
    ///   - subscriptionID: Saving another subscription under it replaces this one (B-SUB-05).
    ///   - querySubscriptionOptions: The events that cause a notification.
    public convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate, subscriptionID: CKSubscription.ID,
        options querySubscriptionOptions: CKQuerySubscription.Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        self.init(
            subscriptionID, recordType: recordType, tree: PredicateTree(predicate), options: querySubscriptionOptions)
    }

    private init(_ id: String, recordType: String, tree: PredicateTree, options: Options) {
        type = recordType
        self.tree = tree
        querySubscriptionOptions = options
        super.init(id, .query)
    }

    convenience init(_ query: SubscribedQuery, id: String) {
        var options = Options(rawValue: UInt(query.firesOn.rawValue))
        if query.firesOnce { options.insert(.firesOnce) }
        let zoneID = query.zoneID.map { CKRecordZone.ID($0) }
        self.init(
            id, recordType: query.query.recordType, tree: PredicateTree(query.query.filters, in: zoneID),
            options: options)
        self.zoneID = zoneID
    }

    /// The type of the records.
    public var recordType: CKRecord.RecordType? { type }

    /// The condition, created from its content on each access.
    public var predicate: NSPredicate { FormatPredicate(tree) }

    /// The only zone that counts; nil: any (B-SUB-04).
    public var zoneID: CKRecordZone.ID? {
        get { zone.withLock { $0 } }
        set { zone.withLock { $0 = newValue } }
    }

    override func interest() throws(CKError) -> Subscription.Interest {
        let zoneID = zoneID
        let filters = try QueryTranslator(zoneID: zoneID).filters(tree)
        return .query(
            SubscribedQuery(
                query: Query(recordType: type, filters: filters), zoneID: zoneID?.model,
                firesOn: RecordEvents(rawValue: UInt8(truncatingIfNeeded: querySubscriptionOptions.rawValue))
                    .intersection(.all), firesOnce: querySubscriptionOptions.contains(.firesOnce)))
    }

    /// Returns a copy of the object; an immutable object returns itself.
    public override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKQuerySubscription(
            subscriptionID, recordType: type, tree: tree, options: querySubscriptionOptions)
        copy.notificationInfo = notificationInfo
        copy.zoneID = zoneID
        return copy
    }

    // MARK: Archiving

    override var content: Content {
        var content = super.content
        content.recordType = type
        content.predicate = tree
        content.options = querySubscriptionOptions.rawValue
        content.zoneID = zoneID?.content
        return content
    }

    /// - Note: An archive without a subscription in it gives one that the server refuses; where unarchiving reports errors, an error.
    public required init(coder aDecoder: NSCoder) {
        let content = Content.read(aDecoder)
        type = content.recordType ?? "?"
        tree = content.predicate ?? .malformed("the archive does not hold a subscription")
        querySubscriptionOptions = Options(rawValue: content.options ?? 0)
        super.init(content, as: .query)
        zoneID = content.zoneID.flatMap { CKRecordZone.ID($0) }
    }
}
