import CloudKitModel
import Foundation
import Synchronization

/// Hears of any change in one custom zone of the private database (B-SUB-01).
// As its superclass.
public final class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {
    /// The zone that the subscription is about.
    public let zoneID: CKRecordZone.ID
    private let type = Mutex<String?>(nil)

    /// Creates a subscription with a unique identifier for a zone.
    @available(*, deprecated, renamed: "init(zoneID:subscriptionID:)")
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, subscriptionID: UUID().uuidString)
    }

    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - subscriptionID: Saving another subscription under it replaces this one (B-SUB-05).
    public convenience init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
        self.init(zoneID: zoneID, subscriptionID: subscriptionID, recordType: nil)
    }

    init(zoneID: CKRecordZone.ID, subscriptionID: String, recordType: String?) {
        self.zoneID = zoneID
        super.init(subscriptionID, .recordZone)
        self.recordType = recordType
    }

    /// Only changes of such records count; nil: of any.
    public var recordType: CKRecord.RecordType? {
        get { type.withLock { $0 } }
        set { type.withLock { $0 = newValue } }
    }

    override func interest() throws(CKError) -> Subscription.Interest { .zone(zoneID.model, recordType: recordType) }

    /// Returns a copy of the object; an immutable object returns itself.
    public override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: subscriptionID, recordType: recordType)
        copy.notificationInfo = notificationInfo
        return copy
    }

    // MARK: Archiving

    override var content: Content {
        var content = super.content
        content.recordType = recordType
        content.zoneID = zoneID.content
        return content
    }

    /// - Note: An archive without a subscription in it gives one that the server refuses; where unarchiving reports errors, an error.
    public required init(coder aDecoder: NSCoder) {
        let content = Content.read(aDecoder)
        zoneID = content.zoneID.flatMap { CKRecordZone.ID($0) } ?? .default
        super.init(content, as: .recordZone)
        recordType = content.recordType
    }
}
