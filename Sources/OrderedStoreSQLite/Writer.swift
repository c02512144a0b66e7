import AsyncLocks
import OrderedStore
import Synchronization

/// The one writer of a store, with group commit.
///
/// Callers announce themselves, then take turns on the disk's thread. The first opens a batch, a transaction of
/// SQLite; each runs its body, which sees what those before it wrote; and whoever finds that it is time (`CommitPace`),
/// or that the batch is full, commits for all. Those who come while a commit waits for the disk make the next batch.
final class Writer: Sendable {
    private struct State {
        /// Callers that have not yet had their turn.
        var announced = 0
        var batch: Batch?
        var pace = CommitPace()
        var commitCount = 0
        var isClosed = false
        var drained: CheckedContinuation<Void, Never>?
    }

    let connection: Connection
    private let checkpointer: Checkpointer
    private let hints: CommitHints
    /// Nanoseconds of a clock that is never set back.
    private let now: @Sendable () -> UInt64
    private let thread: DiskThread
    private let turns = AsyncMutex()
    private let state = Mutex(State())

    init(
        _ connection: Connection, checkpointer: Checkpointer, hints: CommitHints, now: @escaping @Sendable () -> UInt64
    ) throws(StoreError) {
        self.connection = connection
        self.checkpointer = checkpointer
        self.hints = hints
        self.now = now
        thread = try DiskThread.start()
    }

    deinit { thread.stop() }

    var commitCount: Int { state.withLock { $0.commitCount } }

    /// Callers that have not yet had their turn.
    var announcedCount: Int { state.withLock { $0.announced } }

    func write<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        try announce()
        return try await withTaskExecutorPreference(thread) {
            let (outcome, batch) = await takeTurn(partitions, body)
            // A failure is held back as well: it may rest on writes of the same batch, which are not yet durable.
            // Waiting here, not outside, spares waking another thread twice for each write.
            try await batch?.wait()
            return try outcome.get()
        }
    }

    /// SQLite counts what other connections have committed; of this process's, only the writer's does.
    func foreignCommitMark() async throws -> Int64 {
        try await withTaskExecutorPreference(thread) {
            await turns.lock()
            defer { turns.unlock() }
            return try connection.use { (handle) throws(StoreError) in
                try handle.first(.dataVersion, { $0.step() }, { $0.integer(at: 0) }) ?? 0
            }
        }
    }

    /// Waits for writes under way, then lets go of the file.
    func close() async {
        await withCheckedContinuation { continuation in
            let isDrained = state.withLock { state in
                state.isClosed = true
                if state.announced == 0 { return true }
                state.drained = continuation
                return false
            }
            if isDrained { continuation.resume() }
        }
        await checkpointer.close()
        await withTaskExecutorPreference(thread) {
            await turns.lock()
            defer { turns.unlock() }
            endRest()
            try? connection.use { handle in handle.checkpointFully() }
            connection.close()
        }
    }

    private func announce() throws(StoreError) {
        try state.withLock { (state) throws(StoreError) in
            if state.isClosed { throw .closed }
            state.announced += 1
        }
    }
}

extension Writer {
    private func takeTurn<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async -> (Result<Value, any Error>, Batch?) {
        await turns.lock()
        defer { turns.unlock() }
        let (outcome, batch) = await join(partitions, body)
        endTurn()
        return (outcome, batch)
    }

    /// Runs a body in the open batch, or in a new one.
    private func join<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async -> (Result<Value, any Error>, Batch?) {
        let batch: Batch
        do {
            try Task.checkCancellation()
            batch = try openBatch()
        } catch {
            return (.failure(error), nil)
        }
        do {
            let (value, writes) = try await run(partitions, body)
            do throws(StoreError) {
                try connection.use { (handle) throws(StoreError) in try handle.apply(writes) }
                batch.add(writes)
            } catch {
                // What was applied in part cannot be taken back alone.
                abandon(batch, error)
            }
            return (.success(value), batch)
        } catch {
            return (.failure(error), batch)
        }
    }

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

    private func openBatch() throws(StoreError) -> Batch {
        if let batch = state.withLock({ $0.batch }) { return batch }
        try connection.use { (handle) throws(StoreError) in try handle.beginWriting() }
        let batch = Batch()
        let now = now()
        state.withLock { state in
            state.batch = batch
            state.pace.open(at: now)
        }
        return batch
    }

    /// Commits when enough have joined, or when nobody else is likely to soon.
    private func endTurn() {
        let now = now()
        let (batch, step) = state.withLock { state in
            state.announced -= 1
            guard let batch = state.batch else { return (nil as Batch?, CommitPace.Step.goOn) }
            let (turns, isFull) = batch.countTurn()
            if isFull { return (batch, .commit) }
            return (batch, state.pace.next(turns: turns, isLast: state.announced == 0, at: now))
        }
        switch step {
        case .goOn: break
        case .commit: if let batch { commit(batch) }
        case .rest(let nanoseconds): thread.rest(nanoseconds) { [self] in endRest() }
        }
        let drained = state.withLock { $0.announced == 0 ? $0.drained.take() : nil }
        drained?.resume()
    }

    /// Commits what was left open for others who did not come. On the disk's thread only, and in nobody's turn.
    private func endRest() {
        if let batch = state.withLock({ $0.announced == 0 ? $0.batch : nil }) { commit(batch) }
    }

    private func commit(_ batch: Batch) {
        thread.endRest()
        let start = now()
        let partitions = batch.partitions
        do throws(StoreError) {
            try connection.use { (handle) throws(StoreError) in
                // Some failures of reading end the transaction, and with it what was applied.
                if !handle.isInTransaction { throw .batchLost }
                try handle.commit()
            }
        } catch {
            return abandon(batch, error)
        }
        let end = now()
        state.withLock { state in
            state.batch = nil
            // Without writes nothing waited for the disk.
            if partitions.isEmpty { return }
            state.pace.noteCommit(turns: batch.turnCount, from: start, to: end)
            state.commitCount += 1
        }
        // Those who wait for their turn fill the next batch while the answers of this one are on their way.
        thread.first { batch.finish(.success(())) }
        hints.tell(partitions)
        checkpointer.noteCommit(on: connection)
    }

    private func abandon(_ batch: Batch, _ error: StoreError) {
        try? connection.use { handle in handle.rollback() }
        state.withLock { $0.batch = nil }
        batch.finish(.failure(error))
    }
}

extension StoreError {
    fileprivate static let batchLost = Self(
        code: .unavailable, reason: "the transaction was ended by a failure of the disk",
        remedy: "check the disk, then try again")
}
