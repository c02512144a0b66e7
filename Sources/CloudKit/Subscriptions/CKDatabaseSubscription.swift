import CloudKitModel
import Foundation
import Synchronization

/// Hears of any change in the custom zones of the private database, or in what others share (B-SUB-01).
// As its superclass.
public final class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
    private let type = Mutex<String?>(nil)

    /// Creates a subscription with a unique identifier.
    @available(*, deprecated, renamed: "init(subscriptionID:)")
    public convenience init() { self.init(subscriptionID: UUID().uuidString) }

    /// - Parameter subscriptionID: Saving another subscription under it replaces this one (B-SUB-05).
    public convenience init(subscriptionID: CKSubscription.ID) {
        self.init(subscriptionID: subscriptionID, recordType: nil)
    }

    init(subscriptionID: String, recordType: String?) {
        super.init(subscriptionID, .database)
        self.recordType = recordType
    }

    /// Only changes of such records count; nil: of any, and of zones.
    public var recordType: CKRecord.RecordType? {
        get { type.withLock { $0 } }
        set { type.withLock { $0 = newValue } }
    }

    override func interest() throws(CKError) -> Subscription.Interest { .database(recordType: recordType) }

    /// Returns a copy of the object; an immutable object returns itself.
    public override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKDatabaseSubscription(subscriptionID: subscriptionID, recordType: recordType)
        copy.notificationInfo = notificationInfo
        return copy
    }

    // MARK: Archiving

    override var content: Content {
        var content = super.content
        content.recordType = recordType
        return content
    }

    /// - Note: An archive without a subscription in it gives one that the server refuses; where unarchiving reports errors, an error.
    public required init(coder aDecoder: NSCoder) {
        let content = Content.read(aDecoder)
        super.init(content, as: .database)
        recordType = content.recordType
    }
}
