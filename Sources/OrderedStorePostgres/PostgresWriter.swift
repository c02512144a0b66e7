import OrderedStore
import Synchronization

/// Runs writes: those of one partition in batches, each in its turn; different partitions side by side.
///
/// Each transaction locks the rows of its partitions first, in the order of their names, so that the order of commits is the order of
/// their versions, whichever node writes. A transaction that fails in a way that repetition may cure is run again, with all its bodies.
final class PostgresWriter: Sendable {
    private struct State {
        var openCount = 0
        var commitCount = 0
        var isClosed = false
        var drained: CheckedContinuation<Void, Never>?
    }

    private let pool: ConnectionPool
    private let values: PostgresValues
    private let options: PostgresStore.Options
    private let committed: @Sendable ([Partition]) -> Void
    private let details: [String: String]
    private let lanes = WriteLanes()
    private let state = Mutex(State())

    /// - Parameter committed: Called with the partitions of each commit that changed something.
    init(
        _ pool: ConnectionPool, values: PostgresValues, options: PostgresStore.Options, details: [String: String],
        committed: @escaping @Sendable ([Partition]) -> Void
    ) {
        self.pool = pool
        self.values = values
        self.options = options
        self.details = details
        self.committed = committed
    }

    /// Commits that changed something.
    var commitCount: Int { state.withLock { $0.commitCount } }

    /// The number of partitions with writers, for tests.
    var laneCount: Int { lanes.count }

    /// The number of writers of a partition that have not had their turn, for tests.
    func writerCount(of partition: Partition) -> Int { lanes.writerCount(of: partition) }

    func write<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        try begin()
        defer { end() }
        let home = try WriteSet(partitions).home.partition
        let isAlone = Set(partitions).count > 1
        var policy = TransactionRetry(awayMax: options.awayMax)
        while true {
            let attempt =
                isAlone
                ? await attemptAlone(partitions, body)
                : await attemptInLane(home, body)
            switch attempt {
            case .done(let result): return try result.get()
            case .failed(let failure):
                switch policy.next(after: failure, at: options.now(), chance: options.random()) {
                case .giveUp: throw failure.error
                case .again(let pause): if pause > .zero { try await options.sleep(pause) }
                }
            }
        }
    }

    /// Waits for writes under way; later ones are refused.
    func close() async {
        await withCheckedContinuation { continuation in
            let isDrained = state.withLock { state in
                state.isClosed = true
                if state.openCount == 0 { return true }
                state.drained = continuation
                return false
            }
            if isDrained { continuation.resume() }
        }
    }

    private func begin() throws(StoreError) {
        try state.withLock { (state) throws(StoreError) in
            if state.isClosed { throw .closed }
            state.openCount += 1
        }
    }

    private func end() {
        state.withLock { state in
            state.openCount -= 1
            return state.openCount == 0 ? state.drained.take() : nil
        }?.resume()
    }
}

// MARK: Attempts

extension PostgresWriter {
    private enum Attempt<Value: Sendable> {
        case done(Result<Value, any Error>)
        case failed(PostgresFailure)
    }

    /// Runs a body in a batch of its partition.
    private func attemptInLane<Value: Sendable>(
        _ partition: Partition,
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async -> Attempt<Value> {
        let lane = lanes.enter(partition)
        defer { lanes.leave(partition, isRemembered: lane.expectsCrowd) }
        lane.announce(expecting: WriteTurn.expectedReads)
        await lane.lock(for: WriteTurn.user ?? partition.name)
        let (result, batch) = await takeTurn(in: lane, partition, body)
        // A failure of the body waits as well: it may rest on writes of the same batch, which are not yet durable.
        if case .failure(let failure)? = await batch?.wait() { return .failed(failure) }
        if case .failure(let failure as PostgresFailure) = result { return .failed(failure) }
        return .done(result)
    }

    private func takeTurn<Value: Sendable>(
        in lane: WriteLane, _ partition: Partition,
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async -> (Result<Value, any Error>, WriteBatch?) {
        if let batch = lane.openBatch, !Task.isCancelled {
            let result = await join(batch, in: lane, of: partition, body)
            await endTurn(in: lane, partition)
            return (result, batch)
        }
        do {
            try Task.checkCancellation()
            let connection = try await pool.take()
            // Until the turn is over on the thread of the connection: a writer without company changes threads twice.
            return await withTaskExecutorPreference(connection.thread) {
                let batch: WriteBatch
                do {
                    batch = try openBatch([partition], in: lane, on: connection)
                    lane.noteOpened(batch, at: options.now())
                } catch {
                    await endTurn(in: lane, partition)
                    return (.failure(error), nil)
                }
                let result = await run(body, in: batch, of: [partition], in: lane)
                await endTurn(in: lane, partition)
                return (result, batch)
            }
        } catch {
            await endTurn(in: lane, partition)
            return (.failure(error), nil)
        }
    }

    /// Runs a body in a batch that another writer has opened.
    private func join<Value: Sendable>(
        _ batch: WriteBatch, in lane: WriteLane, of partition: Partition,
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async -> Result<Value, any Error> {
        // What it expects to read is there, or comes with its first read: no reason to leave the thread that it is on.
        if !WriteTurn.expectedReads.isEmpty { return await run(body, in: batch, of: [partition], in: lane) }
        return await withTaskExecutorPreference(batch.connection.thread) {
            await run(body, in: batch, of: [partition], in: lane)
        }
    }

    private func run<Value: Sendable>(
        _ body: @Sendable (inout WriteTransaction) async throws -> Value,
        in batch: WriteBatch, of partitions: [Partition], in lane: WriteLane?
    ) async -> Result<Value, any Error> {
        do {
            let (value, writes) = try await batch.run(partitions, body)
            try batch.add(writes)
            lane?.noteAdded(byteCount: writes.byteCount)
            return .success(value)
        } catch {
            return .failure(error)
        }
    }

    /// Does what follows the turn for the open batch, and gives the turn to the next writer.
    private func endTurn(in lane: WriteLane, _ partition: Partition) async {
        switch lane.endTurn(at: options.now()) {
        case nil, (.continue, _)?: break
        case (.commit, let full)?: await commitOpen(full, in: lane, partition)
        case (.wait(let nanoseconds), let open)?:
            // Not in the caller's task, which may be cancelled: its batch has to be committed all the same.
            Task { [options] in
                try? await options.sleep(.nanoseconds(Int64(clamping: nanoseconds)))
                await lane.lock(for: "")
                if lane.waitEnded(of: open) { await commitOpen(open, in: lane, partition) }
                lane.unlock()
            }
        }
        lane.unlock()
    }

    /// Commits the open batch of a lane, within a turn.
    private func commitOpen(_ batch: WriteBatch, in lane: WriteLane, _ partition: Partition) async {
        let start = options.now()
        await commit(batch, in: lane, partitions: [partition])
        lane.noteEnded(from: start, to: options.now())
    }

    /// Runs a body that touches several partitions in a transaction of its own.
    private func attemptAlone<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async -> Attempt<Value> {
        let batch: WriteBatch
        do {
            try Task.checkCancellation()
            let connection = try await pool.take()
            batch = try await withTaskExecutorPreference(connection.thread) {
                try openBatch(partitions, in: nil, on: connection)
            }
        } catch let failure as PostgresFailure {
            return .failed(failure)
        } catch {
            return .done(.failure(error))
        }
        let result: Result<Value, any Error> = await withTaskExecutorPreference(batch.connection.thread) {
            let result = await run(body, in: batch, of: partitions, in: nil)
            await commit(batch, in: nil, partitions: partitions)
            return result
        }
        if case .failure(let failure) = await batch.wait() { return .failed(failure) }
        return .done(result)
    }
}

// MARK: Transactions of the server

extension PostgresWriter {
    /// Begins a transaction and locks its partitions, on the thread of the connection, which goes back to the pool if that fails.
    ///
    /// - Parameter lane: The lane of the only partition, whose writers share the transaction; nil: it belongs to one writer.
    private func openBatch(
        _ partitions: [Partition], in lane: WriteLane?, on connection: PostgresConnection
    ) throws -> WriteBatch {
        do {
            let expected = lane?.takeExpectedReads() ?? WriteTurn.expectedReads
            let (turn, found) = try lock(partitions, reading: expected, on: connection)
            let snapshot = PostgresSnapshot(
                connection, values: values, turn: turn, first: [], remembers: true,
                expected: { lane?.takeExpectedReads() ?? ExpectedReads() })
            if let home = partitions.first { snapshot.remember(expected, found, in: home) }
            return try WriteBatch(partitions, connection, snapshot)
        } catch {
            connection.use { $0.endTransaction() }
            pool.give(connection)
            throw error
        }
    }

    /// Begins a transaction, locks partitions and reads what the first one holds, in one exchange.
    ///
    /// - Returns: The turn of the connection, and the rows that were found.
    private func lock(
        _ partitions: [Partition], reading expected: ExpectedReads = ExpectedReads(), on connection: PostgresConnection
    ) throws -> (turn: Int, rows: FoundRows) {
        let names = Set(partitions).map { ($0, Bytes($0.name.utf8)) }.sorted { $0.1.precedes($1.1) }
        let requests = names.map { partition, _ in values.lockRequest(of: partition) }
        let reads = partitions.first.map { PostgresRequest.reads(expected, of: values.key(of: $0)) } ?? []
        let firstScan = requests.count + 1 + reads.count - expected.ranges.count
        var found: [Bytes] = []
        var rows = FoundRows()
        let turn = try connection.use { (session) throws(PostgresFailure) in
            try session.exchange([PostgresRequest(.beginWrite)] + requests + reads) { index, answer in
                if index >= firstScan {
                    rows.ofRanges.append(answer.entries(under: nil))
                } else if index > requests.count {
                    rows.ofKeys += answer.entries(under: nil)
                } else if index > 0, answer.rowCount == 1 {
                    found.append(answer.bytes(0, 0))
                }
            }
            return session.beginTurn()
        }
        for (index, (partition, name)) in names.enumerated() where index >= found.count || found[index] != name {
            throw StoreError.collidingPartition(partition)
        }
        return (turn, rows)
    }

    /// Ends the transaction of a batch and reports its outcome.
    private func commit(_ batch: WriteBatch, in lane: WriteLane?, partitions: [Partition]) async {
        let writes = batch.allWrites
        let outcome = await withTaskExecutorPreference(batch.connection.thread) { () -> Result<Void, PostgresFailure> in
            if let failure = batch.snapshot.failure { return .failure(failure) }
            return writes.isEmpty ? .success(()) : await send(writes, of: batch, in: lane)
        }
        batch.connection.use { $0.endTransaction() }
        pool.give(batch.connection)
        if case .success = outcome {
            let changed = writes.partitions.filter { !$0.isEmpty && !options.quietPartitions.contains($0.partition) }
            if !changed.isEmpty {
                state.withLock { $0.commitCount += 1 }
                committed(changed.map(\.partition))
            }
        }
        batch.finish(outcome)
    }

    private func send(
        _ writes: WriteSet, of batch: WriteBatch, in lane: WriteLane?
    ) async -> Result<Void, PostgresFailure> {
        let request = CommitRequest(
            partition: values.key(of: writes.home.partition), at: options.wallClock(),
            id: options.random().bigEndianBytes + options.random().bigEndianBytes)
        let connection = batch.connection
        do throws(PostgresFailure) {
            try connection.use { (session) throws(PostgresFailure) in
                try session.commit(writes, as: request, forgetting: lane?.lastRequest, values, options)
            }
        } catch {
            guard case .away(let cause) = error, !connection.isOpen else { return .failure(error) }
            // The commit was on its way.
            guard let isCommitted = await isCommitted(request, of: writes.home.partition) else {
                return .failure(.refused(.unknownCommit(cause.details)))
            }
            if !isCommitted { return .failure(error) }
        }
        lane?.lastRequest = request
        return .success(())
    }

    /// Asks the server whether a transaction was committed.
    ///
    /// - Returns: nil: it cannot be asked.
    private func isCommitted(_ request: CommitRequest, of partition: Partition) async -> Bool? {
        var policy = TransactionRetry(awayMax: options.awayMax)
        while true {
            var failure: PostgresFailure
            do {
                return try await ask(for: request, of: partition)
            } catch let error as PostgresFailure {
                failure = error
            } catch {
                return nil
            }
            switch policy.next(after: failure, at: options.now(), chance: options.random()) {
            case .giveUp: return nil
            case .again(let pause):
                // Not in the caller's task, which may have been cancelled: its fate has to be known all the same.
                let sleep = options.sleep
                if pause > .zero { await Task { try? await sleep(pause) }.value }
            }
        }
    }

    private func ask(for request: CommitRequest, of partition: Partition) async throws -> Bool {
        // A connection of its own: the pool's may all be held by writers that wait for the same rows.
        let connection = try await PostgresConnection.open(options.configuration, options)
        defer { connection.close() }
        return try await withTaskExecutorPreference(connection.thread) {
            // The lock is free only when the transaction has ended, one way or the other.
            _ = try lock([partition], on: connection)
            var isFound = false
            try connection.use { (session) throws(PostgresFailure) in
                try session.exchange([PostgresRequest(.findRequest, parameters: request.parameters)]) { _, answer in
                    isFound = answer.rowCount == 1
                }
                session.endTransaction()
            }
            return isFound
        }
    }
}

extension PostgresSession {
    /// Ends a transaction that is not to be committed, if there is one.
    mutating func endTransaction() {
        endTurn()
        if isInTransaction { runLater(PostgresRequest(.rollback)) }
    }

    /// Sends what a transaction writes and commits it, in one exchange.
    ///
    /// - Parameters:
    ///   - request: The row that says that the transaction was committed.
    ///   - earlier: The row of an earlier transaction, known to be committed; nil: rows of the partition that are old enough.
    fileprivate mutating func commit(
        _ writes: WriteSet, as request: CommitRequest, forgetting earlier: CommitRequest?, _ values: PostgresValues,
        _ options: PostgresStore.Options
    ) throws(PostgresFailure) {
        var requests: [PostgresRequest] = []
        for changes in writes.partitions where !changes.isEmpty {
            requests += PostgresRequest.applying(changes, values.key(of: changes.partition))
        }
        requests.append(PostgresRequest(.noteRequest, parameters: request.parameters))
        if let earlier, earlier.partition == request.partition {
            requests.append(PostgresRequest(.forgetRequest, parameters: earlier.parameters))
        } else {
            let old = request.at - Int64(options.requestsKept.nanoseconds / 1_000_000)
            requests.append(PostgresRequest(.forgetOldRequests, .bytes(request.partition.bytes), .integer(old)))
        }
        try run(committing: requests)
    }

    /// Sends the last statements of a transaction, or all of them, and commits it.
    ///
    /// - Throws: `conflict` if it was rolled back, `refused` if a standby did not confirm it.
    mutating func run(committing statements: [PostgresRequest]) throws(PostgresFailure) {
        let requests = statements + [PostgresRequest(.commit)]
        let counter = warningCounter
        let (earlierWarnings, last) = (counter.pointee, requests.count - 1)
        var command = ""
        var hasWarned = false
        try exchange(requests) { index, answer in
            guard index == last else { return }
            command = answer.command
            // What comes behind the answer, such as that the server is about to go, says nothing of the commit.
            hasWarned = counter.pointee != earlierWarnings
        }
        // A transaction that had failed is rolled back by its COMMIT, without an error.
        guard command == "COMMIT" else { throw .conflict(StoreError(sqlState: "40001", details: [:])) }
        if hasWarned { throw .refused(.unconfirmedCommit([:])) }
    }
}

extension PostgresRequest {
    /// The statements that make changes: ranges are cleared first, then keys are cleared and set.
    static func applying(_ changes: WriteSet.Changes, _ partition: PartitionKey) -> [PostgresRequest] {
        let home = PostgresParameter.bytes(partition.bytes)
        var requests = changes.clears.map {
            PostgresRequest(.clearRange, home, .bytes($0.lower), .bytes($0.upper))
        }
        var set: [[PostgresParameter]] = []
        changes.points.visit { key, value in
            if let value {
                set.append([.bytes(key), .bytes(value), .integer(partition.checksum.sum(key, value))])
            } else {
                requests.append(PostgresRequest(.clear, home, .bytes(key)))
            }
        }
        var next = 0
        while next < set.count {
            // Ends with 1, which is never more than what is left.
            let rows = PostgresStatement.rowCounts.first { $0 <= set.count - next } ?? 1
            requests.append(
                PostgresRequest(.set(rows: rows), parameters: [home] + set[next..<next + rows].flatMap { $0 }))
            next += rows
        }
        return requests
    }
}
