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

        /// A textual form of the value, for logs and debugging.
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
        /// The state to keep on disk and to pass to the next engine.
        public let stateSerialization: CKSyncEngine.State.Serialization

        /// A textual form of the value, for logs and debugging.
        public var description: String { "stateUpdate" }
    }

    /// A user signed in or out. The engine has discarded its state, pending changes included (B-SYN-12).
    public struct AccountChange: CustomStringConvertible, Sendable {
        /// The ways in which an account changes.
        public enum ChangeType: Equatable, Sendable {
            /// Also when an engine starts for the first time with a user signed in.
            case signIn(currentUser: CKRecord.ID)
            case signOut(previousUser: CKRecord.ID)
            case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
        }

        /// The way in which the account changed.
        public let changeType: ChangeType

        /// A textual form of the value, for logs and debugging.
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
        /// The reason and options of the fetch.
        public let context: CKSyncEngine.FetchChangesContext

        /// A textual form of the value, for logs and debugging.
        public var description: String { "willFetchChanges(\(context.reason))" }
    }

    /// Zones that are new or have changed, and zones that are gone, with the reason (B-SYN-14).
    public struct FetchedDatabaseChanges: CustomStringConvertible, Sendable {
        /// The zones that changed.
        public let modifications: [CKDatabase.DatabaseChange.Modification]
        /// The zones that were deleted, with the reasons.
        public let deletions: [CKDatabase.DatabaseChange.Deletion]

        /// A textual form of the value, for logs and debugging.
        public var description: String {
            "fetchedDatabaseChanges(\(modifications.count) modified, \(deletions.count) deleted)"
        }
    }

    /// The records of a zone are about to be fetched.
    public struct WillFetchRecordZoneChanges: CustomStringConvertible, Sendable {
        /// The zone that is fetched.
        public let zoneID: CKRecordZone.ID

        /// A textual form of the value, for logs and debugging.
        public var description: String { "willFetchRecordZoneChanges(\(zoneID.zoneName))" }
    }

    /// Records that are new or have changed, and records that are gone: of one zone, in pages.
    public struct FetchedRecordZoneChanges: CustomStringConvertible, Sendable {
        /// The records that were created or changed.
        public let modifications: [CKDatabase.RecordZoneChange.Modification]
        /// The records that were deleted.
        public let deletions: [CKDatabase.RecordZoneChange.Deletion]

        /// A textual form of the value, for logs and debugging.
        public var description: String {
            "fetchedRecordZoneChanges(\(modifications.count) modified, \(deletions.count) deleted)"
        }
    }

    /// The records of a zone are fetched, or not.
    public struct DidFetchRecordZoneChanges: CustomStringConvertible, Sendable {
        /// The zone that is fetched.
        public let zoneID: CKRecordZone.ID
        /// `changeTokenExpired`: the zone is fetched from the beginning next, right after this event. Local records
        /// that are not among those fetched were deleted (B-CHG-09). `partialFailure`: some records could not be
        /// delivered.
        public let error: CKError?

        /// A textual form of the value, for logs and debugging.
        public var description: String {
            "didFetchRecordZoneChanges(\(zoneID.zoneName)\(error.map { ", error \($0.code.rawValue)" } ?? ""))"
        }
    }

    /// A fetch is over, well or not.
    public struct DidFetchChanges: CustomStringConvertible, Sendable {
        /// The reason and options of the fetch.
        public let context: CKSyncEngine.FetchChangesContext

        /// A textual form of the value, for logs and debugging.
        public var description: String { "didFetchChanges(\(context.reason))" }
    }

    // MARK: Sending

    /// A send begins.
    public struct WillSendChanges: CustomStringConvertible, Sendable {
        /// The reason and options of the send.
        public let context: CKSyncEngine.SendChangesContext

        /// A textual form of the value, for logs and debugging.
        public var description: String { "willSendChanges(\(context.reason))" }
    }

    /// The outcome of a batch of zones.
    public struct SentDatabaseChanges: CustomStringConvertible, Sendable {
        /// A zone that was not saved. A change that the engine retries is still pending (B-SYN-08).
        public struct FailedZoneSave: CustomStringConvertible, Sendable {
            /// The zone that could not be saved.
            public let zone: CKRecordZone
            /// The reason why the save failed.
            public let error: CKError

            /// A textual form of the value, for logs and debugging.
            public var description: String { "\(zone.zoneID.zoneName): error \(error.code.rawValue)" }
        }

        /// The zones that were saved.
        public let savedZones: [CKRecordZone]
        /// The zones that could not be saved.
        public let failedZoneSaves: [FailedZoneSave]
        /// The zones that were deleted.
        public let deletedZoneIDs: [CKRecordZone.ID]
        /// The zones that could not be deleted, with the reasons.
        public let failedZoneDeletes: [CKRecordZone.ID: CKError]

        /// A textual form of the value, for logs and debugging.
        public var description: String {
            "sentDatabaseChanges(\(savedZones.count) saved, \(deletedZoneIDs.count) deleted, "
                + "\(failedZoneSaves.count + failedZoneDeletes.count) failed)"
        }
    }

    /// The outcome of a batch of records; one event for each batch (B-SYN-03).
    public struct SentRecordZoneChanges: CustomStringConvertible, Sendable {
        /// A record that was not saved. Changes that the engine retries are still pending (B-SYN-08); all others are
        /// not: the app resolves the problem and adds them again (B-SYN-09).
        public struct FailedRecordSave: CustomStringConvertible, Sendable {
            /// As it was sent.
            public let record: CKRecord
            /// The reason why the save failed.
            public let error: CKError

            /// A textual form of the value, for logs and debugging.
            public var description: String { "\(record.recordID.recordName): error \(error.code.rawValue)" }
        }

        /// As the server holds them now: keep their system fields for the next save.
        public let savedRecords: [CKRecord]
        /// The records that could not be saved.
        public let failedRecordSaves: [FailedRecordSave]
        /// The records that were deleted.
        public let deletedRecordIDs: [CKRecord.ID]
        /// The records that could not be deleted, with the reasons.
        public let failedRecordDeletes: [CKRecord.ID: CKError]

        /// A textual form of the value, for logs and debugging.
        public var description: String {
            "sentRecordZoneChanges(\(savedRecords.count) saved, \(deletedRecordIDs.count) deleted, "
                + "\(failedRecordSaves.count + failedRecordDeletes.count) failed)"
        }
    }

    /// A send is over, well or not.
    public struct DidSendChanges: CustomStringConvertible, Sendable {
        /// The reason and options of the send.
        public let context: CKSyncEngine.SendChangesContext

        /// A textual form of the value, for logs and debugging.
        public var description: String { "didSendChanges(\(context.reason))" }
    }
}
