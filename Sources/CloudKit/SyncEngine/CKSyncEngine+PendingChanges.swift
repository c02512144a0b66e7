extension CKSyncEngine {
    /// A record that waits to be sent. A later change of the same record replaces an earlier one (B-SYN-05).
    public enum PendingRecordZoneChange: CustomStringConvertible, Equatable, Hashable, Sendable {
        case saveRecord(CKRecord.ID)
        case deleteRecord(CKRecord.ID)

        var recordID: CKRecord.ID {
            switch self {
            case .saveRecord(let id), .deleteRecord(let id): id
            }
        }

        /// A textual form of the value, for logs and debugging.
        public var description: String {
            switch self {
            case .saveRecord(let id): "saveRecord(\(id.recordName))"
            case .deleteRecord(let id): "deleteRecord(\(id.recordName))"
            }
        }
    }

    /// A zone that waits to be saved or deleted. Compared by the zone's ID, since zone objects come and go with the
    /// serialised state.
    public enum PendingDatabaseChange: CustomStringConvertible, Equatable, Hashable, Sendable {
        case saveZone(CKRecordZone)
        case deleteZone(CKRecordZone.ID)

        var zoneID: CKRecordZone.ID {
            switch self {
            case .saveZone(let zone): zone.zoneID
            case .deleteZone(let id): id
            }
        }

        private var isSave: Bool { if case .saveZone = self { true } else { false } }

        /// Returns a Boolean value that indicates whether two values are equal.
        public static func == (left: Self, right: Self) -> Bool {
            left.isSave == right.isSave && left.zoneID == right.zoneID
        }

        /// Hashes the contents into the given hasher.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(isSave)
            hasher.combine(zoneID)
        }

        /// A textual form of the value, for logs and debugging.
        public var description: String {
            (isSave ? "saveZone(" : "deleteZone(") + zoneID.zoneName + ")"
        }
    }
}

/// Changes that wait, at most one for each item, in the order in which the items were first added (B-SYN-05).
///
/// Every addition gets a revision: who sends a change knows by it whether the app changed the item again meanwhile, and
/// then leaves it pending.
struct PendingList<Key: Hashable & Sendable, Change: Hashable & Sendable>: Sendable {
    struct Entry: Sendable {
        var key: Key
        var change: Change
        var revision: UInt64
    }

    private(set) var entries: [Entry] = []
    private var places: [Key: Int] = [:]

    var isEmpty: Bool { entries.isEmpty }
    var changes: [Change] { entries.map(\.change) }

    subscript(key: Key) -> Entry? { places[key].map { entries[$0] } }

    /// - Returns: Whether the list looks different now.
    @discardableResult
    mutating func add(_ change: Change, for key: Key, revision: UInt64) -> Bool {
        if let place = places[key] {
            let isNew = entries[place].change != change
            entries[place].change = change
            entries[place].revision = revision
            return isNew
        }
        places[key] = entries.count
        entries.append(Entry(key: key, change: change, revision: revision))
        return true
    }

    /// Removes the entries that the body chooses.
    ///
    /// - Returns: Whether there were any.
    @discardableResult
    mutating func removeAll(where isUnwanted: (Entry) -> Bool) -> Bool {
        let count = entries.count
        entries.removeAll(where: isUnwanted)
        guard entries.count != count else { return false }
        places = Dictionary(uniqueKeysWithValues: entries.enumerated().map { ($1.key, $0) })
        return true
    }
}
