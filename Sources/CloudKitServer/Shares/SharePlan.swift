import CloudKitModel
import CloudKitRecordLayer

/// What a batch does to shares and to the trees under them, decided before anything is written.
struct SharePlan: Sendable {
    /// The tree that each saved record is in afterwards; no entry: in none.
    var after: [String: UInt64] = [:]
    /// Records outside the batch that change trees along with one above them.
    var moves: [Move] = []
    /// Where records that enter a tree had left it before.
    var leavings: [String: ShareLeaving] = [:]
    /// Shares that begin or change, by the names of their records.
    var decisions: [String: ShareDecision] = [:]
    /// Those of them that begin.
    var begun: Set<String> = []
    /// Shares that the caller gives up their seat in.
    var left: Set<String> = []
    /// Shares that end, with their records or their roots.
    var ended: [String: StoredShare] = [:]
    /// Whether records leave a tree whose members have their present keys, so that a key epoch of the zone begins (B-TM-05).
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
