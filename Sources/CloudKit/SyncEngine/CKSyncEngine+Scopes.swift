extension CKSyncEngine {
    /// The reason for a sync.
    public enum SyncReason: CustomStringConvertible, Equatable, Hashable, Sendable {
        /// The engine's own schedule.
        case scheduled
        /// The app called `fetchChanges` or `sendChanges`.
        case manual

        /// A textual form of the value, for logs and debugging.
        public var description: String {
            switch self {
            case .scheduled: "scheduled"
            case .manual: "manual"
            }
        }
    }

    /// The zones to fetch, and the group under which the server's log counts the requests.
    public struct FetchChangesOptions: CustomStringConvertible, Sendable {
        /// Which zones to fetch.
        public enum Scope: CustomStringConvertible, Equatable, Sendable {
            case all
            case allExcluding([CKRecordZone.ID])
            case zoneIDs([CKRecordZone.ID])

            /// Returns a Boolean value that indicates whether the scope includes a zone.
            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                }
            }

            /// A textual form of the value, for logs and debugging.
            public var description: String {
                switch self {
                case .all: "all"
                case .allExcluding(let zoneIDs): "all but \(zoneIDs.count) zones"
                case .zoneIDs(let zoneIDs): "\(zoneIDs.count) zones"
                }
            }
        }

        /// The zones or changes that the call concerns.
        public var scope: Scope
        /// The group that the requests of the call belong to.
        public var operationGroup: CKOperationGroup
        /// Zones to fetch before all others, first things first; one without changes is passed over (B-SYN-13).
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []

        /// - Parameters:
        ///   - scope: The zones that the call is about.
        ///   - operationGroup: nil: a fresh one.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        /// A textual form of the value, for logs and debugging.
        public var description: String {
            "FetchChangesOptions(scope: \(scope), prioritized: \(prioritizedZoneIDs.count))"
        }
    }

    /// One attempt to fetch: why, and what.
    public struct FetchChangesContext: CustomStringConvertible, Sendable {
        /// The reason for the call: the app asked for it, or the engine scheduled it.
        public let reason: SyncReason
        /// The options of the fetch.
        public let options: FetchChangesOptions

        /// A textual form of the value, for logs and debugging.
        public var description: String { "FetchChangesContext(\(reason), \(options))" }
    }

    /// The changes to send, and the group under which the server's log counts the requests.
    public struct SendChangesOptions: CustomStringConvertible, Sendable {
        /// Which changes to send; a batch with others fails with `invalidArguments` (B-SYN-06).
        public enum Scope: CustomStringConvertible, Equatable, Sendable {
            case all
            case allExcluding([CKRecordZone.ID])
            case zoneIDs([CKRecordZone.ID])
            case recordIDs([CKRecord.ID])

            /// Returns a Boolean value that indicates whether the scope includes a pending change.
            public func contains(_ pendingChange: PendingRecordZoneChange) -> Bool {
                contains(pendingChange.recordID)
            }

            /// Returns a Boolean value that indicates whether the scope includes a record.
            public func contains(_ recordID: CKRecord.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(recordID.zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(recordID.zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains(recordID)
                }
            }

            /// Returns a Boolean value that indicates whether changes of the zone itself are sent: records can only be
            /// saved in zones that exist.
            func containsZone(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains { $0.zoneID == zoneID }
                }
            }

            /// A textual form of the value, for logs and debugging.
            public var description: String {
                switch self {
                case .all: "all"
                case .allExcluding(let zoneIDs): "all but \(zoneIDs.count) zones"
                case .zoneIDs(let zoneIDs): "\(zoneIDs.count) zones"
                case .recordIDs(let recordIDs): "\(recordIDs.count) records"
                }
            }
        }

        /// The zones or changes that the call concerns.
        public var scope: Scope
        /// The group that the requests of the call belong to.
        public var operationGroup: CKOperationGroup

        /// - Parameters:
        ///   - scope: The zones that the call is about.
        ///   - operationGroup: nil: a fresh one.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        /// A textual form of the value, for logs and debugging.
        public var description: String { "SendChangesOptions(scope: \(scope))" }
    }

    /// One attempt to send: why, and what.
    public struct SendChangesContext: CustomStringConvertible, Sendable {
        /// The reason for the call: the app asked for it, or the engine scheduled it.
        public let reason: SyncReason
        /// The options of the send.
        public let options: SendChangesOptions

        /// A textual form of the value, for logs and debugging.
        public var description: String { "SendChangesContext(\(reason), \(options))" }
    }
}
