import CloudKitModel

extension CKDatabase {
    /// The changes of zones.
    public enum DatabaseChange {
        /// A zone is new, or its records or attributes have changed.
        public struct Modification: Hashable, Sendable {
            /// The identifier of the zone.
            public let zoneID: CKRecordZone.ID
        }

        /// A zone is gone.
        public struct Deletion: Hashable, Sendable {
            /// The reason for the deletion of a zone (B-ZN-09).
            public enum Reason: Hashable, Sendable {
                /// An app deleted it.
                case deleted
                /// The user removed the app's data.
                case purged
                /// The user lost and reset the keys of encrypted data.
                case encryptedDataReset
            }

            /// The identifier of the zone.
            public let zoneID: CKRecordZone.ID
            /// The reason why the zone was deleted.
            public let reason: Reason

            /// A Boolean value that indicates whether the user removed the app's data.
            public var purged: Bool { reason == .purged }
        }
    }

    /// The changes of records.
    public enum RecordZoneChange {
        /// A record's newest state.
        public struct Modification: Hashable, Sendable {
            /// The record as the server holds it.
            public let record: CKRecord
        }

        /// A record is gone, or no longer visible.
        public struct Deletion: Hashable, Sendable {
            /// The identifier of the deleted record.
            public let recordID: CKRecord.ID
            /// The type of the deleted record.
            public let recordType: CKRecord.RecordType
        }
    }
}

extension CKDatabase.DatabaseChange.Deletion.Reason {
    init(_ reason: ZoneDeletionReason) {
        switch reason {
        case .deleted: self = .deleted
        case .purged: self = .purged
        case .encryptedDataReset: self = .encryptedDataReset
        }
    }
}
