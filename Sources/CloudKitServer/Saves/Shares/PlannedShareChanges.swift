import CloudKitModel
import CloudKitRecordLayer

/// The effect of a batch on shares and the trees under them, decided before anything is written.
struct PlannedShareChanges: Sendable {
    /// The tree that each saved record is in afterwards; no entry: in none.
    var after: [String: UInt64] = [:]
    /// Records outside the batch that change trees along with one above them.
    var moves: [Move] = []
    /// The earlier leavings of records that enter a tree.
    var leavings: [String: ShareLeaving] = [:]
    /// Shares that begin or change, by the names of their records.
    var decisions: [String: ShareDecision] = [:]
    /// The names of `decisions` whose shares begin.
    var begun: Set<String> = []
    /// The shares that the caller leaves.
    var left: Set<String> = []
    /// Shares that end, with their records or their roots.
    var ended: [String: StoredShare] = [:]
    /// A flag for records that leave a tree whose members have their present keys: a key epoch of the zone begins (B-TM-05).
    var beginsKeyEpoch = false

    struct Move: Sendable {
        var name: String
        var recordType: String
        /// Bytes of the stored record.
        var size: Int
        var from: ShareMembership?
        var to: UInt64?
        /// In which the record's values are sealed; nil: none are.
        var keyEpoch: UInt32?
    }

    var endedNumbers: Set<UInt64> { Set(ended.values.map(\.number)) }

    var isEmpty: Bool {
        moves.isEmpty && decisions.isEmpty && left.isEmpty && ended.isEmpty && !beginsKeyEpoch
    }
}
