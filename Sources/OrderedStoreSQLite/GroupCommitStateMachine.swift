import OrderedStore

/// The states of group commit: which writers have announced themselves, what the open batch holds, when it is committed.
///
/// Pure: the writer reports what happened, each function returns what is to be done next, and the writer does it on its thread.
/// One turn is taken at a time; batches are opened, joined and committed within turns, or, after `wait`, between two.
struct GroupCommitStateMachine {
    /// The turns that share one commit.
    private struct OpenBatch {
        var turnCount = 0
        var byteCount = 0
        var partitions: Set<Partition> = []

        var isFull: Bool { turnCount >= Self.turnsMax || byteCount >= Self.bytesMax }

        /// Bounds how long the first has to wait for the commit,
        private static let turnsMax = 256
        /// and how much the log grows by it.
        private static let bytesMax = 4 << 20
    }

    /// Writers that have not yet had their turn.
    private(set) var announcedCount = 0
    /// Commits with writes.
    private(set) var commitCount = 0
    private var batch: OpenBatch?
    private var policy = GroupCommitPolicy()
    private var isClosed = false

    /// Whether the store was closed and all writers that announced themselves before have had their turn.
    var isDrained: Bool { isClosed && announcedCount == 0 }

    // MARK: Writers

    enum Announcement: Equatable {
        case takeTurn
        /// The store was closed.
        case refuse
    }

    /// A writer comes.
    mutating func announce() -> Announcement {
        if isClosed { return .refuse }
        announcedCount += 1
        return .takeTurn
    }

    enum TurnStart: Equatable {
        /// Begin a transaction, then call `batchOpened`.
        case openBatch
        case joinBatch
    }

    /// A writer has the turn and is to run its body.
    func turnBegan() -> TurnStart { batch == nil ? .openBatch : .joinBatch }

    /// A transaction was begun.
    mutating func batchOpened(at now: UInt64) {
        batch = OpenBatch()
        policy.open(at: now)
    }

    /// The writes of a body were applied in the open batch.
    ///
    /// - Parameter partitions: The partitions that were written to.
    mutating func writesApplied(to partitions: some Sequence<Partition>, byteCount: Int) {
        batch?.partitions.formUnion(partitions)
        batch?.byteCount += byteCount
    }

    /// The writer whose turn it was is done, with or without writes; its batch may have been abandoned.
    mutating func turnEnded(at now: UInt64) -> GroupCommitPolicy.Step {
        announcedCount -= 1
        guard batch != nil else { return .continue }
        batch?.turnCount += 1
        guard let batch, !batch.isFull else { return .commit }
        return policy.next(turns: batch.turnCount, isLast: announcedCount == 0, at: now)
    }

    // MARK: Commits

    enum WaitEnd: Equatable {
        case commit
        /// Nothing is left to commit, or a writer came and will.
        case ignore
    }

    /// The time of a `wait` has passed, or the store closes its file.
    func waitEnded() -> WaitEnd { batch != nil && announcedCount == 0 ? .commit : .ignore }

    /// The open batch is durable.
    ///
    /// - Returns: The partitions that were written to.
    mutating func batchCommitted(from start: UInt64, to end: UInt64) -> Set<Partition> {
        guard let committed = batch.take() else { return [] }
        // Without writes nothing waited for the disk.
        if committed.partitions.isEmpty { return [] }
        policy.noteCommit(turns: committed.turnCount, from: start, to: end)
        commitCount += 1
        return committed.partitions
    }

    /// The open batch was rolled back.
    mutating func batchAbandoned() { batch = nil }

    // MARK: Closing

    enum Closing: Equatable {
        case proceed
        /// Wait until a turn has ended and `isDrained` is true.
        case waitForWriters
    }

    /// The store is closed: later writers are refused.
    mutating func close() -> Closing {
        isClosed = true
        return isDrained ? .proceed : .waitForWriters
    }
}
