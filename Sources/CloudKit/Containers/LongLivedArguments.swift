import Foundation

/// The arguments that recreate an operation after its process has ended.
enum LongLivedArguments: Codable, Sendable {
    case modifyRecords(
        saves: [Data], deletes: [CKRecordID.Content], policy: Int, isAtomic: Bool, clientChangeToken: Data?)
    case fetchRecords([CKRecordID.Content], desiredKeys: [String]?, isForCurrentUser: Bool)
    case query(query: Data?, cursor: Data?, zone: CKRecordZoneID.Content?, limit: Int, desiredKeys: [String]?)
    case modifyZones(saves: [CKRecordZoneID.Content], deletes: [CKRecordZoneID.Content])
    case fetchZones([CKRecordZoneID.Content], isForAll: Bool)
    case databaseChanges(token: String?, limit: Int, fetchesAll: Bool)
    case zoneChanges([ZoneStart], fetchesAll: Bool)
    case modifySubscriptions(saves: [ArchivedSubscription], deletes: [String])
    case fetchSubscriptions([String], isForAll: Bool)

    /// A subscription in the archive of its own class.
    struct ArchivedSubscription: Codable, Sendable {
        var type: Int
        var archive: Data

        init(_ subscription: CKSubscription) {
            type = subscription.subscriptionType.rawValue
            archive = LongLivedArchive.write { subscription.encode(with: $0) }
        }

        /// The subscription; nil: the archive cannot be read.
        var subscription: CKSubscription? {
            LongLivedArchive.read(archive) { coder in
                switch CKSubscription.SubscriptionType(rawValue: type) {
                case .query: CKQuerySubscription(coder: coder)
                case .recordZone: CKRecordZoneSubscription(coder: coder)
                case .database: CKDatabaseSubscription(coder: coder)
                default: nil
                }
            }
        }
    }

    struct ZoneStart: Codable, Sendable {
        var zone: CKRecordZoneID.Content
        var token: String?
        var limit: Int
        var desiredKeys: [String]?
    }
}

/// Archives of single values, as records and queries write them.
enum LongLivedArchive {
    static func write(_ body: (NSCoder) -> Void) -> Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        body(archiver)
        return archiver.encodedData
    }

    static func read<Value>(_ data: Data, _ body: (NSCoder) -> Value?) -> Value? {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
        unarchiver.requiresSecureCoding = true
        return body(unarchiver)
    }
}
