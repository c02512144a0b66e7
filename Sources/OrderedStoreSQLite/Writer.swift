import OrderedStore
import Synchronization

/// The one writer of a store, with group commit.
///
/// Callers announce themselves, then take turns on the disk's thread, users in rotation. The first opens a batch, a transaction of
/// SQLite; each runs its body, which sees the writes of those before it; and the caller at whose end
/// `GroupCommitStateMachine` says so commits for all. Callers that come while a commit waits for the disk make the next batch.
final class Writer: Sendable {
    private struct State {
        var machine = GroupCommitStateMachine()
        /// Of the open batch.
        var outcome: BatchOutcome?
        /// Resumed once the machine is drained.
        var closing: CheckedContinuation<Void, Never>?
    }

    let connection: Connection
    private let checkpointer: Checkpointer
    private let hints: CommitHints
    /// Nanoseconds of a clock that is never set back.
    private let now: @Sendable () -> UInt64
    private let thread: BlockingThread
    private let turns = FairTurns()
    private let state = Mutex(State())

    init(
        _ connection: Connection, checkpointer: Checkpointer, hints: CommitHints, now: @escaping @Sendable () -> UInt64
    ) throws(StoreError) {
        self.connection = connection
        self.checkpointer = checkpointer
        self.hints = hints
        self.now = now
        thread = try BlockingThread.start()
    }

    deinit { thread.stop() }

    /// Commits that reached the disk.
    var commitCount: Int { state.withLock { $0.machine.commitCount } }

    /// Callers that have not yet had their turn.
    var announcedCount: Int { state.withLock { $0.machine.announcedCount } }

    func write<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        try announce()
        return try await withTaskExecutorPreference(thread) {
            let (result, outcome) = await takeTurn(partitions, body)
            // A failure waits for the commit as well: it may rest on writes of the same batch, which are not yet durable.
            // Waiting here, not outside, spares waking another thread twice for each write.
            try await outcome?.wait()
            return try result.get()
        }
    }

    /// SQLite counts the commits of other connections; of this process's, only the writer's makes any.
    func foreignCommitMark() async throws -> Int64 {
        try await withTaskExecutorPreference(thread) {
            try await turns.withLock(for: "", on: thread) {
                try connection.use { (handle) throws(StoreError) in
                    try handle.first(.dataVersion, step: { $0.step() }, take: { $0.integer(at: 0) }) ?? 0
                }
            }
        }
    }

    /// Gives back the pages that the connection holds in memory.
    func releaseMemory(above bytesMax: Int) async -> Bool {
        await withTaskExecutorPreference(thread) {
            await turns.withLock(for: "", on: thread) { connection.releaseMemory(above: bytesMax) }
        }
    }

    /// Waits for writes under way, then closes the file.
    func close() async {
        await withCheckedContinuation { continuation in
            let step = state.withLock { state in
                let step = state.machine.close()
                if step == .waitForWriters { state.closing = continuation }
                return step
            }
            if step == .proceed { continuation.resume() }
        }
        await checkpointer.close()
        await withTaskExecutorPreference(thread) {
            await turns.withLock(for: "", on: thread) {
                waitEnded()
                // Closing the last connection to the file moves the log into it, while no process can open another.
                connection.close()
            }
        }
    }

    private func announce() throws(StoreError) {
        if state.withLock({ $0.machine.announce() }) == .refuse { throw .closed }
    }
}

extension Writer {
    private func takeTurn<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async -> (Result<Value, any Error>, BatchOutcome?) {
        await turns.lock(for: WriteTurn.user ?? partitions.first?.name ?? "", on: thread)
        defer { turns.unlock() }
        let (result, outcome) = await join(partitions, body)
        endTurn()
        return (result, outcome)
    }

    /// Runs a body in the open batch, or in a new one.
    private func join<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async -> (Result<Value, any Error>, BatchOutcome?) {
        let outcome: BatchOutcome
        do {
            try Task.checkCancellation()
            outcome = try openBatch()
        } catch {
            return (.failure(error), nil)
        }
        do {
            let (value, writes) = try await run(partitions, body)
            do throws(StoreError) {
                try connection.use { (handle) throws(StoreError) in
                    // Outside a transaction each entry would be a commit of its own.
                    if !handle.isInTransaction { throw .batchLost }
                    try handle.apply(writes)
                }
                noteApplied(writes)
            } catch {
                // Writes that were applied in part cannot be taken back alone.
                abandon(outcome, error)
            }
            return (.success(value), outcome)
        } catch {
            return (.failure(error), outcome)
        }
    }

    // Inlined into `join`, it makes the compiler of release builds fail (Swift 6.3).
    @inline(never)
    private func run<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> (Value, WriteSet) {
        let turn = try connection.use { handle in handle.beginTurn() }
        defer { try? connection.use { handle in handle.endTurn() } }
        var transaction = try WriteTransaction(
            partitions, snapshot: SQLiteSnapshot(connection: connection, turn: turn))
        let value = try await body(&transaction)
        return (value, transaction.writes)
    }

    private func openBatch() throws(StoreError) -> BatchOutcome {
        let (start, open) = state.withLock { ($0.machine.turnBegan(), $0.outcome) }
        if start == .joinBatch, let open {
            if try connection.use({ $0.isInTransaction }) { return open }
            abandon(open, .batchLost)
        }
        try connection.use { (handle) throws(StoreError) in try handle.beginWriting() }
        let outcome = BatchOutcome()
        let now = now()
        state.withLock { state in
            state.outcome = outcome
            state.machine.batchOpened(at: now)
        }
        return outcome
    }

    private func noteApplied(_ writes: WriteSet) {
        state.withLock { state in
            state.machine.writesApplied(
                to: writes.partitions.lazy.filter { !$0.isEmpty }.map(\.partition), byteCount: writes.byteCount)
        }
    }

    /// Commits when enough have joined, or when no other caller is likely to soon.
    private func endTurn() {
        let now = now()
        let (step, outcome) = state.withLock { ($0.machine.turnEnded(at: now), $0.outcome) }
        switch step {
        case .continue: break
        case .commit: if let outcome { commit(outcome) }
        case .wait(let nanoseconds): thread.whenIdle(for: nanoseconds) { [self] in waitEnded() }
        }
        let closing = state.withLock { $0.machine.isDrained ? $0.closing.take() : nil }
        closing?.resume()
    }

    /// Commits the batch that was left open for callers that did not come. Runs on the disk's thread, while no turn is taken.
    private func waitEnded() {
        let (step, outcome) = state.withLock { ($0.machine.waitEnded(), $0.outcome) }
        if step == .commit, let outcome { commit(outcome) }
    }

    private func commit(_ outcome: BatchOutcome) {
        thread.cancelIdleWork()
        let start = now()
        do throws(StoreError) {
            try connection.use { (handle) throws(StoreError) in
                if !handle.isInTransaction { throw .batchLost }
                try handle.commit()
            }
        } catch {
            return abandon(outcome, error)
        }
        let end = now()
        let partitions = state.withLock { state in
            state.outcome = nil
            return state.machine.batchCommitted(from: start, to: end)
        }
        // Callers that wait for their turn fill the next batch while the answers of this one are on their way.
        thread.prioritizing { outcome.finish(.success(())) }
        hints.publish(partitions)
        checkpointer.noteCommit(on: connection)
    }

    private func abandon(_ outcome: BatchOutcome, _ error: StoreError) {
        try? connection.use { handle in handle.rollback() }
        state.withLock { state in
            state.outcome = nil
            state.machine.batchAbandoned()
        }
        outcome.finish(.failure(error))
    }
}

extension StoreError {
    /// The error of writes whose transaction SQLite has ended by itself, as it does when it cannot read or has no memory.
    fileprivate static let batchLost = Self(
        code: .unavailable, reason: "the transaction was ended by a failure of the disk or for lack of memory",
        remedy: "check the disk and the memory, then try again")
}
