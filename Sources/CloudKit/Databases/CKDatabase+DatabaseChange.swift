import CloudKitModel

extension CKDatabase {
    /// What happened to a zone.
    public enum DatabaseChange {
        /// A zone is new, or its records or attributes have changed.
        public struct Modification: Hashable, Sendable {
            public let zoneID: CKRecordZone.ID
        }

        /// A zone is gone.
        public struct Deletion: Hashable, Sendable {
            /// Why it is gone (B-ZN-09).
            public enum Reason: Hashable, Sendable {
                /// An app deleted it.
                case deleted
                /// The user removed the app's data.
                case purged
                /// The user lost and reset the keys of encrypted data.
                case encryptedDataReset
            }

            public let zoneID: CKRecordZone.ID
            public let reason: Reason

            /// Whether the user removed the app's data.
            public var purged: Bool { reason == .purged }
        }
    }

    /// What happened to a record.
    public enum RecordZoneChange {
        /// A record's newest state.
        public struct Modification: Hashable, Sendable {
            public let record: CKRecord
        }

        /// A record is gone, or no longer visible.
        public struct Deletion: Hashable, Sendable {
            public let recordID: CKRecord.ID
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
