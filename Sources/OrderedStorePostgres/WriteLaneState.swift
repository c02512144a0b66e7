import OrderedStore

/// The states of the writers of one partition in this process: who comes, what the open batch holds, when it is committed.
///
/// Pure: `WriteLane` reports what happened, each function returns what is to be done next. One turn is taken at a time; batches are
/// opened, joined and committed within turns.
struct WriteLaneState {
    private struct OpenBatch {
        let opened: UInt64
        var turnCount = 0
        var byteCount = 0
    }

    /// Bounds how long the first has to wait for the commit,
    private static let turnsMax = 256
    /// the size of the transaction,
    private static let bytesMax = 4 << 20
    /// and both, where bodies take long; in nanoseconds.
    private static let timeMax: UInt64 = 50_000_000

    /// Writers that have not yet had their turn.
    private(set) var announcedCount = 0
    private var batch: OpenBatch?
    private var policy = GroupCommitPolicy(commitsOpenMax: nil)

    /// Whether the last batches had writers enough to be waited for.
    var expectsCrowd: Bool { policy.expectsCrowd }

    enum TurnStart: Equatable {
        /// Begin a transaction, then call `batchOpened`.
        case openBatch
        case joinBatch
    }

    /// A writer comes.
    mutating func announce() { announcedCount += 1 }

    /// A writer has the turn and is to run its body.
    func turnBegan() -> TurnStart { batch == nil ? .openBatch : .joinBatch }

    /// A transaction was begun.
    mutating func batchOpened(at now: UInt64) {
        batch = OpenBatch(opened: now)
        policy.open(at: now)
    }

    /// A body's writes were added to the batch.
    mutating func writesAdded(byteCount: Int) { batch?.byteCount += byteCount }

    /// The batch was committed or given up.
    ///
    /// - Parameters:
    ///   - start: When its commit began.
    ///   - end: When that ended.
    mutating func batchEnded(from start: UInt64, to end: UInt64) {
        // Without writes nothing waited for the disk.
        if let batch, batch.byteCount > 0 { policy.noteCommit(turns: batch.turnCount, from: start, to: end) }
        batch = nil
    }

    /// Returns whether the batch whose `wait` has passed is to be committed: no writer came that will do it.
    func waitEnded() -> Bool { batch != nil && announcedCount == 0 }

    /// The writer whose turn it was is done, with or without writes.
    mutating func turnEnded(at now: UInt64) -> GroupCommitPolicy.Step {
        announcedCount -= 1
        guard var open = batch else { return .continue }
        open.turnCount += 1
        batch = open
        let isFull =
            open.turnCount >= Self.turnsMax || open.byteCount >= Self.bytesMax
            || now > open.opened && now - open.opened > Self.timeMax
        if isFull { return .commit }
        return policy.next(turns: open.turnCount, isLast: announcedCount == 0, at: now)
    }
}
