extension CKSyncEngine {
    /// Why the engine syncs.
    public enum SyncReason: CustomStringConvertible, Equatable, Hashable, Sendable {
        /// The engine's own schedule.
        case scheduled
        /// The app called `fetchChanges` or `sendChanges`.
        case manual

        public var description: String {
            switch self {
            case .scheduled: "scheduled"
            case .manual: "manual"
            }
        }
    }

    /// What to fetch, and under which name the server's log counts it.
    public struct FetchChangesOptions: CustomStringConvertible, Sendable {
        /// Which zones to fetch.
        public enum Scope: CustomStringConvertible, Equatable, Sendable {
            case all
            case allExcluding([CKRecordZone.ID])
            case zoneIDs([CKRecordZone.ID])

            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                }
            }

            public var description: String {
                switch self {
                case .all: "all"
                case .allExcluding(let zoneIDs): "all but \(zoneIDs.count) zones"
                case .zoneIDs(let zoneIDs): "\(zoneIDs.count) zones"
                }
            }
        }

        public var scope: Scope
        public var operationGroup: CKOperationGroup
        /// Zones to fetch before all others, first things first; one without changes is passed over (B-SYN-13).
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []

        /// - Parameter operationGroup: nil: a fresh one.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        public var description: String {
            "FetchChangesOptions(scope: \(scope), prioritized: \(prioritizedZoneIDs.count))"
        }
    }

    /// One attempt to fetch: why, and what.
    public struct FetchChangesContext: CustomStringConvertible, Sendable {
        public let reason: SyncReason
        public let options: FetchChangesOptions

        public var description: String { "FetchChangesContext(\(reason), \(options))" }
    }

    /// What to send, and under which name the server's log counts it.
    public struct SendChangesOptions: CustomStringConvertible, Sendable {
        /// Which changes to send; a batch with others fails with `invalidArguments` (B-SYN-06).
        public enum Scope: CustomStringConvertible, Equatable, Sendable {
            case all
            case allExcluding([CKRecordZone.ID])
            case zoneIDs([CKRecordZone.ID])
            case recordIDs([CKRecord.ID])

            public func contains(_ pendingChange: PendingRecordZoneChange) -> Bool {
                contains(pendingChange.recordID)
            }

            public func contains(_ recordID: CKRecord.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(recordID.zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(recordID.zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains(recordID)
                }
            }

            /// Whether changes of the zone itself are sent: records can only go into zones that exist.
            func containsZone(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains { $0.zoneID == zoneID }
                }
            }

            public var description: String {
                switch self {
                case .all: "all"
                case .allExcluding(let zoneIDs): "all but \(zoneIDs.count) zones"
                case .zoneIDs(let zoneIDs): "\(zoneIDs.count) zones"
                case .recordIDs(let recordIDs): "\(recordIDs.count) records"
                }
            }
        }

        public var scope: Scope
        public var operationGroup: CKOperationGroup

        /// - Parameter operationGroup: nil: a fresh one.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        public var description: String { "SendChangesOptions(scope: \(scope))" }
    }

    /// One attempt to send: why, and what.
    public struct SendChangesContext: CustomStringConvertible, Sendable {
        public let reason: SyncReason
        public let options: SendChangesOptions

        public var description: String { "SendChangesContext(\(reason), \(options))" }
    }
}
