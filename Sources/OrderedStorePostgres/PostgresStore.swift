import AsyncLocks
import Dispatch
import OrderedStore
import Synchronization

/// A store in a PostgreSQL database, or in an engine that speaks its protocol, for any number of processes.
///
/// Writers of one partition share commits within a process; between processes the row of the partition orders them. Reads run beside
/// them, each in one snapshot. `commits()` reports the commits of other processes as well, where the engine has `NOTIFY`.
package final class PostgresStore: PersistentStore {
    /// The limits, the clocks and the chance of a store.
    package struct Options: Sendable {
        /// Transactions that write at the same time; further ones wait. Most of the time they wait for the server's disk.
        package var writersMax = 8
        /// Connections for reads at the same time; further reads wait.
        package var readersMax = 4
        /// The time for a connection to be made.
        package var connectTimeout = Duration.seconds(10)
        /// The time for a server to answer; after it the connection counts as lost.
        package var answerTimeout = Duration.seconds(30)
        /// The time for which a server that is away is waited for, by each call.
        package var awayMax = Duration.seconds(10)
        /// The time for which transactions can be asked for by the id that they leave: longer than `awayMax` and the difference of the
        /// clocks of nodes.
        package var requestsKept = Duration.seconds(600)
        /// Whether other processes are told of commits, and tell of theirs.
        package var exchangesHints = true
        /// The partitions whose commits by other processes change `foreignCommitMark`; nil: all.
        package var markedPartitions: Set<Partition>?
        /// The partitions whose commits are neither counted nor hinted at: those that a process without work writes again and again.
        package var quietPartitions: Set<Partition> = []
        /// The pause after which the database is asked what hints may have missed.
        package var pollInterval = Duration.seconds(5)

        /// Nanoseconds of a clock that is never set back.
        package var now: @Sendable () -> UInt64 = { DispatchTime.now().uptimeNanoseconds }
        /// Milliseconds since 1970.
        package var wallClock: @Sendable () -> Int64
        /// Waits.
        package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        /// A random number: identifiers of transactions, pauses.
        package var random: @Sendable () -> UInt64 = { .random(in: .min ... .max) }
        /// A failure to inject before a statement, for tests.
        var fault: (@Sendable (PostgresStatement) -> PostgresFault?)?
        /// The database.
        package let configuration: PostgresConfiguration

        /// Creates the options of a store.
        ///
        /// - Parameter wallClock: Milliseconds since 1970.
        package init(_ configuration: PostgresConfiguration, wallClock: @escaping @Sendable () -> Int64) {
            self.configuration = configuration
            self.wallClock = wallClock
        }
    }

    /// The store's epoch; one that another process has renewed is known after `pollInterval` at the latest.
    package var epoch: UInt64 { heldEpoch.load(ordering: .acquiring) }
    /// The number that this store and all its copies share.
    package let storeID: UInt64
    /// The damaged values that were met.
    package let damage = StoreDamage()
    let options: Options
    let writer: PostgresWriter
    let readers: ConnectionPool
    private let writers: ConnectionPool
    private let values: PostgresValues
    private let heldEpoch: Atomic<UInt64>
    private let hints = CommitHints()
    private let exchange: HintExchange?
    private let closing = AsyncMutex()

    /// Opens the store of a database, making its tables if there are none.
    ///
    /// - Throws: `StoreError`: `unavailable` (no such server, user, database or right), `readOnly`, `notAStore`, `newerFormat`,
    ///   `olderFormat`, `corrupt`, `diskFull`, `busy`.
    package static func open(_ options: Options) async throws -> PostgresStore {
        let identity = try await StoreOpening(options: options).run()
        return PostgresStore(options, identity)
    }

    private init(_ options: Options, _ identity: StoreIdentity) {
        self.options = options
        storeID = identity.salt
        heldEpoch = Atomic(identity.epoch)
        values = PostgresValues(salt: identity.salt, damage: damage)
        readers = ConnectionPool(options.configuration, options, connectionsMax: options.readersMax)
        writers = ConnectionPool(options.configuration, options, connectionsMax: options.writersMax)
        let (hints, exchange) = (hints, options.exchangesHints ? HintExchange(options) : nil)
        self.exchange = exchange
        writer = PostgresWriter(
            writers, values: values, options: options, details: options.configuration.details
        ) { partitions in
            hints.publish(partitions)
            exchange?.send(partitions)
        }
        exchange?.start(
            receive: { hints.publish($0) },
            paused: { [weak self] in try? await self?.refreshEpoch() })
    }

    /// Runs `body` on one state of the partition; waits while all connections for reading are taken.
    package func read<Value: Sendable>(
        _ partition: Partition,
        _ body: @Sendable (inout ReadTransaction) async throws -> Value
    ) async throws -> Value {
        var policy = TransactionRetry(awayMax: options.awayMax)
        while true {
            let failure: PostgresFailure
            do {
                return try await attempt(partition, body)
            } catch let error as PostgresFailure {
                failure = error
            }
            switch policy.next(after: failure, at: options.now(), chance: options.random()) {
            case .giveUp: throw failure.error
            case .again(let pause): if pause > .zero { try await options.sleep(pause) }
            }
        }
    }

    /// Runs `body` on the values of some keys, which take one statement outside of a transaction; a body that reads more runs once more, in one.
    package func read<Value: Sendable>(
        _ partition: Partition, expecting keys: [Bytes],
        _ body: @Sendable (inout ReadTransaction) async throws -> Value
    ) async throws -> Value {
        let key = values.key(of: partition)
        guard keys.count <= ReadAhead.keysMax, let request = PostgresRequest.valuesAtOnce(under: keys, of: key) else {
            return try await read(partition, body)
        }
        let rows = try await using(readers) { (session) throws(PostgresFailure) in
            var rows: [StoredEntry] = []
            try session.exchange([request]) { _, answer in rows = answer.entries(under: nil) }
            return rows
        }
        let snapshot = ReadAhead(keys, of: partition, found: values.rawEntries(rows, of: key, in: partition))
        var transaction = ReadTransaction(home: partition, snapshot: snapshot)
        let result: Result<Value, any Error>
        do { result = .success(try await body(&transaction)) } catch { result = .failure(error) }
        // Whatever the body made of the missing value.
        return snapshot.isIncomplete ? try await read(partition, body) : try result.get()
    }

    /// Runs `body` in its turn and returns when its writes are durable, together with those that share the commit.
    package func write<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> Value {
        try await writer.write(partitions, body)
    }

    /// Commits something, which only the server that leads can do, and gives up the connections for reads: a server that has led before answers
    /// them until it notices, with the state that it had then.
    package func catchUp() async throws -> Bool {
        let lock = values.lockRequest(of: ServedMark.partition)
        try await using(writers) { (session) throws(PostgresFailure) in
            defer { session.endTransaction() }
            try session.run(committing: [PostgresRequest(.beginWrite), lock])
        }
        readers.renew()
        return true
    }

    /// Returns a stream of the partitions that are changed from now on, through this store or by other processes.
    package func commits() -> AsyncStream<Partition> { hints.stream() }

    /// Commits through this store so far, apart from those to quiet partitions.
    package var commitCount: Int { writer.commitCount }

    /// Changes of partitions that were hinted at so far.
    package var hintCount: Int { hints.count }

    /// A number that is another one when other processes may have committed: after each of their hints, and where hints cannot be relied
    /// on, after each `pollInterval`.
    package func foreignCommitMark() async throws -> Int64 { exchange?.mark ?? 0 }

    /// Does nothing: the pages are the server's.
    package func releaseMemory(above bytesMax: Int) async -> Bool { false }

    /// Gives the store another epoch, unless it has changed from `epoch` already.
    package func renewEpoch(from epoch: UInt64) async throws {
        try await replaceEpoch(epoch, by: options.random())
    }

    /// Gives the store the epoch of a store which it takes the place of.
    package func setEpoch(_ epoch: UInt64) async throws {
        while self.epoch != epoch { try await replaceEpoch(self.epoch, by: epoch) }
    }

    private func replaceEpoch(_ epoch: UInt64, by next: UInt64) async throws {
        try await using(writers) { (session) throws(PostgresFailure) in
            try session.run(
                PostgresRequest(
                    .renewEpoch, .integer(Int64(bitPattern: epoch)), .integer(Int64(bitPattern: next))))
        }
        try await refreshEpoch()
    }

    /// Whether no partition holds anything.
    package func isEmpty() async throws -> Bool {
        try await using(readers) { (session) throws(PostgresFailure) in
            var count = 0
            try session.exchange([PostgresRequest(.anyEntry)]) { _, answer in count = answer.rowCount }
            return count == 0
        }
    }

    /// Returns the names of all partitions that were ever written to.
    package func partitionNames() async throws -> [String] {
        try await using(readers) { (session) throws(PostgresFailure) in
            var names: [String] = []
            try session.exchange([PostgresRequest(.partitionNames)]) { _, answer in
                names = (0..<answer.rowCount).map { String(decoding: answer.bytes($0, 0), as: UTF8.self) }
            }
            return names
        }
    }

    /// PostgreSQL checks its own files (`pg_amcheck`): there is nothing that its clients could ask it for.
    package func integrityProblems() async throws -> [String] { [] }

    /// Finishes calls under way and closes the connections.
    package func close() async {
        await closing.withLock {
            await writer.close()
            await readers.close()
            await writers.close()
            await exchange?.end()
            hints.finish()
        }
    }
}

extension PostgresStore {
    private func attempt<Value: Sendable>(
        _ partition: Partition, _ body: @Sendable (inout ReadTransaction) async throws -> Value
    ) async throws -> Value {
        let connection = try await readers.take()
        defer { readers.give(connection) }
        return try await withTaskExecutorPreference(connection.thread) {
            let turn = connection.use { session in session.beginTurn() }
            defer { connection.use { $0.endTransaction() } }
            let snapshot = PostgresSnapshot(
                connection, values: values, turn: turn, first: [PostgresRequest(.beginRead)], remembers: false)
            var transaction = ReadTransaction(home: partition, snapshot: snapshot)
            let result: Result<Value, any Error>
            do { result = .success(try await body(&transaction)) } catch { result = .failure(error) }
            // Whatever the body made of the error: it saw no state of the store.
            if let failure = snapshot.failure { throw failure }
            return try result.get()
        }
    }

    /// Runs statements that need no transaction.
    private func using<Value: Sendable>(
        _ pool: ConnectionPool, _ body: @Sendable (inout PostgresSession) throws(PostgresFailure) -> Value
    ) async throws -> Value {
        var policy = TransactionRetry(awayMax: options.awayMax)
        while true {
            let failure: PostgresFailure
            do {
                let connection = try await pool.take()
                defer { pool.give(connection) }
                return try await withTaskExecutorPreference(connection.thread) { try connection.use(body) }
            } catch let error as PostgresFailure {
                failure = error
            }
            switch policy.next(after: failure, at: options.now(), chance: options.random()) {
            case .giveUp: throw failure.error
            case .again(let pause): if pause > .zero { try await options.sleep(pause) }
            }
        }
    }

    /// Reads the epoch, which another process may have renewed.
    private func refreshEpoch() async throws {
        let identity = try await using(readers) { (session) throws(PostgresFailure) in try session.identity() }
        guard let identity else { throw StoreError.missingIdentity(options.configuration.details) }
        heldEpoch.store(identity.epoch, ordering: .releasing)
    }
}
