extension CKSyncEngine {
    /// Something that happened during a sync (B-SYN-03).
    public enum Event: CustomStringConvertible, Sendable {
        case stateUpdate(StateUpdate)
        case accountChange(AccountChange)
        case fetchedDatabaseChanges(FetchedDatabaseChanges)
        case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
        case sentDatabaseChanges(SentDatabaseChanges)
        case sentRecordZoneChanges(SentRecordZoneChanges)
        case willFetchChanges(WillFetchChanges)
        case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
        case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
        case didFetchChanges(DidFetchChanges)
        case willSendChanges(WillSendChanges)
        case didSendChanges(DidSendChanges)

        public var description: String {
            switch self {
            case .stateUpdate(let event): event.description
            case .accountChange(let event): event.description
            case .fetchedDatabaseChanges(let event): event.description
            case .fetchedRecordZoneChanges(let event): event.description
            case .sentDatabaseChanges(let event): event.description
            case .sentRecordZoneChanges(let event): event.description
            case .willFetchChanges(let event): event.description
            case .willFetchRecordZoneChanges(let event): event.description
            case .didFetchRecordZoneChanges(let event): event.description
            case .didFetchChanges(let event): event.description
            case .willSendChanges(let event): event.description
            case .didSendChanges(let event): event.description
            }
        }
    }
}

extension CKSyncEngine.Event {
    /// The engine's state has changed: store it together with what earlier events brought (B-SYN-01).
    public struct StateUpdate: CustomStringConvertible, Sendable {
        public let stateSerialization: CKSyncEngine.State.Serialization

        public var description: String { "stateUpdate" }
    }

    /// Somebody signed in or out. The engine has forgotten all it knew, pending changes included (B-SYN-12).
    public struct AccountChange: CustomStringConvertible, Sendable {
        public enum ChangeType: Equatable, Sendable {
            /// Also when an engine starts for the first time with somebody signed in.
            case signIn(currentUser: CKRecord.ID)
            case signOut(previousUser: CKRecord.ID)
            case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
        }

        public let changeType: ChangeType

        public var description: String {
            switch changeType {
            case .signIn: "accountChange(signIn)"
            case .signOut: "accountChange(signOut)"
            case .switchAccounts: "accountChange(switchAccounts)"
            }
        }
    }

    // MARK: Fetching

    /// A fetch begins.
    public struct WillFetchChanges: CustomStringConvertible, Sendable {
        public let context: CKSyncEngine.FetchChangesContext

        public var description: String { "willFetchChanges(\(context.reason))" }
    }

    /// Zones that are new or have changed, and zones that are gone, with the reason (B-SYN-14).
    public struct FetchedDatabaseChanges: CustomStringConvertible, Sendable {
        public let modifications: [CKDatabase.DatabaseChange.Modification]
        public let deletions: [CKDatabase.DatabaseChange.Deletion]

        public var description: String {
            "fetchedDatabaseChanges(\(modifications.count) modified, \(deletions.count) deleted)"
        }
    }

    /// The records of a zone are about to be fetched.
    public struct WillFetchRecordZoneChanges: CustomStringConvertible, Sendable {
        public let zoneID: CKRecordZone.ID

        public var description: String { "willFetchRecordZoneChanges(\(zoneID.zoneName))" }
    }

    /// Records that are new or have changed, and records that are gone: of one zone, in pages.
    public struct FetchedRecordZoneChanges: CustomStringConvertible, Sendable {
        public let modifications: [CKDatabase.RecordZoneChange.Modification]
        public let deletions: [CKDatabase.RecordZoneChange.Deletion]

        public var description: String {
            "fetchedRecordZoneChanges(\(modifications.count) modified, \(deletions.count) deleted)"
        }
    }

    /// The records of a zone are fetched, or not.
    public struct DidFetchRecordZoneChanges: CustomStringConvertible, Sendable {
        public let zoneID: CKRecordZone.ID
        /// `changeTokenExpired`: the zone is fetched from the beginning next, right after this event. What is known locally
        /// and not among those records was deleted (B-CHG-09). `partialFailure`: some records could not be delivered.
        public let error: CKError?

        public var description: String {
            "didFetchRecordZoneChanges(\(zoneID.zoneName)\(error.map { ", error \($0.code.rawValue)" } ?? ""))"
        }
    }

    /// A fetch is over, well or not.
    public struct DidFetchChanges: CustomStringConvertible, Sendable {
        public let context: CKSyncEngine.FetchChangesContext

        public var description: String { "didFetchChanges(\(context.reason))" }
    }

    // MARK: Sending

    /// A send begins.
    public struct WillSendChanges: CustomStringConvertible, Sendable {
        public let context: CKSyncEngine.SendChangesContext

        public var description: String { "willSendChanges(\(context.reason))" }
    }

    /// What became of a batch of zones.
    public struct SentDatabaseChanges: CustomStringConvertible, Sendable {
        /// A zone that was not saved. What the engine retries by itself is still pending (B-SYN-08).
        public struct FailedZoneSave: CustomStringConvertible, Sendable {
            public let zone: CKRecordZone
            public let error: CKError

            public var description: String { "\(zone.zoneID.zoneName): error \(error.code.rawValue)" }
        }

        public let savedZones: [CKRecordZone]
        public let failedZoneSaves: [FailedZoneSave]
        public let deletedZoneIDs: [CKRecordZone.ID]
        public let failedZoneDeletes: [CKRecordZone.ID: CKError]

        public var description: String {
            "sentDatabaseChanges(\(savedZones.count) saved, \(deletedZoneIDs.count) deleted, "
                + "\(failedZoneSaves.count + failedZoneDeletes.count) failed)"
        }
    }

    /// What became of a batch of records; one event for each batch (B-SYN-03).
    public struct SentRecordZoneChanges: CustomStringConvertible, Sendable {
        /// A record that was not saved. What the engine retries by itself is still pending (B-SYN-08); everything else is
        /// not, and is the app's to rekey and add again (B-SYN-09).
        public struct FailedRecordSave: CustomStringConvertible, Sendable {
            /// As it was sent.
            public let record: CKRecord
            public let error: CKError

            public var description: String { "\(record.recordID.recordName): error \(error.code.rawValue)" }
        }

        /// As the server holds them now: keep their system fields for the next save.
        public let savedRecords: [CKRecord]
        public let failedRecordSaves: [FailedRecordSave]
        public let deletedRecordIDs: [CKRecord.ID]
        public let failedRecordDeletes: [CKRecord.ID: CKError]

        public var description: String {
            "sentRecordZoneChanges(\(savedRecords.count) saved, \(deletedRecordIDs.count) deleted, "
                + "\(failedRecordSaves.count + failedRecordDeletes.count) failed)"
        }
    }

    /// A send is over, well or not.
    public struct DidSendChanges: CustomStringConvertible, Sendable {
        public let context: CKSyncEngine.SendChangesContext

        public var description: String { "didSendChanges(\(context.reason))" }
    }
}
