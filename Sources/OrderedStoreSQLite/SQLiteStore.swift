import AsyncLocks
import Dispatch
import OrderedStore
import Synchronization

/// A store in one file, for one machine: SQLite in WAL mode, durable with every commit.
///
/// Writes share commits: bodies that wait are run one after another in one transaction with one sync of the disk, and
/// are answered together. Reads run beside them, each in one snapshot. Other processes may open the file too; hints
/// report only commits made through this store.
package final class SQLiteStore: PersistentStore {
    /// The limits and the clock of a store.
    package struct Options: Sendable {
        /// Makes the file when it is not there; without it that is an error.
        package var createsFile = true
        /// Connections for reads at the same time; further reads wait. At least 1.
        package var readersMax = 8
        /// The time to wait for another process that writes.
        package var busyTimeout: Duration = .seconds(5)
        /// The size that the file may grow to, in bytes; a write beyond it fails with `diskFull`.
        package var fileBytesMax: Int?
        /// The pages of the write-ahead log at which it is moved into the file: 16 MB, so that pages that change often are moved
        /// once for many commits, and recovery stays quick.
        package var checkpointPages = 2048

        /// Nanoseconds of a clock that is never set back: it measures the time of commits, and so the time for which
        /// batches wait for further writers. With a clock that stands still no batch waits.
        package var now: @Sendable () -> UInt64 = { DispatchTime.now().uptimeNanoseconds }

        /// Creates the options of a store on a disk.
        package init() {}
    }

    /// The number of the format that this version writes; it reads no other.
    package static var formatVersion: Int { Int(Format.version) }

    /// Drawn when the file was made, and again for each backup. A file copied by other means keeps it: `renewEpoch`.
    package var epoch: UInt64 { heldEpoch.load(ordering: .acquiring) }
    let path: String
    private let heldEpoch: Atomic<UInt64>
    /// The damaged values that were met.
    package let damage: StoreDamage
    let partitions: PartitionIDs
    private let readers: ReaderPool
    let writer: Writer
    private let hints: CommitHints
    private let closing = AsyncMutex()

    /// Opens the store in the file at `path`; blocks while it does.
    ///
    /// - Throws: `unavailable` (no such folder or no permission), `readOnly`, `notAStore`, `newerFormat`, `olderFormat`, `corrupt`,
    ///   `diskFull`, `busy` (another process holds the file).
    package init(path: String, options: Options = Options()) throws(StoreError) {
        let partitions = PartitionIDs()
        let hints = CommitHints()
        var handle = try Handle(path: path, options: options, role: .writer, partitions: partitions)
        heldEpoch = Atomic(try handle.prepareFile(createsFile: options.createsFile))
        damage = partitions.damage
        self.partitions = partitions
        let connection = Connection(handle)
        self.path = path
        self.hints = hints
        writer = try Writer(
            connection, checkpointer: Checkpointer(path: path, options: options, partitions: partitions), hints: hints,
            now: options.now)
        readers = ReaderPool(path: path, options: options, partitions: partitions)
    }

    /// Runs `body` on one state of the partition; waits while all connections for reading are taken.
    package func read<Value: Sendable>(
        _ partition: Partition,
        _ body: @Sendable (inout ReadTransaction) async throws -> Value
    ) async throws -> Value {
        let connection = try await readers.take()
        defer { readers.give(connection) }
        let turn = try connection.beginRead()
        defer { connection.endRead() }
        var transaction = ReadTransaction(
            home: partition, snapshot: SQLiteSnapshot(connection: connection, turn: turn))
        return try await body(&transaction)
    }

    /// Runs `body` in its turn and returns when its writes are durable, together with those that share the commit.
    package func write<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> Value {
        try await writer.write(partitions, body)
    }

    /// Returns a stream of the partitions that are changed through this store from now on.
    package func commits() -> AsyncStream<Partition> {
        hints.stream()
    }

    /// Commits that reached the disk through this store so far; fewer than writes when writes share them.
    package var commitCount: Int { writer.commitCount }

    /// Changes of partitions that were hinted at so far.
    package var hintCount: Int { hints.count }

    /// A number that is another one after a commit by another process, and only then: commits through this store leave it as it
    /// is. Cheap enough to be asked several times a second.
    package func foreignCommitMark() async throws -> Int64 { try await writer.foreignCommitMark() }

    /// Gives back the pages that connections hold in memory; they are read again when they are needed.
    ///
    /// - Parameter bytesMax: What each connection may keep; one that holds more gives back all.
    /// - Returns: Whether any memory was given back.
    @discardableResult package func releaseMemory(above bytesMax: Int) async -> Bool {
        let hasReleased = readers.releaseMemory(above: bytesMax)
        return await writer.releaseMemory(above: bytesMax) || hasReleased
    }

    /// Gives the store another epoch, unless it has changed from `epoch` already.
    package func renewEpoch(from epoch: UInt64) async throws {
        try await changeIdentity { (handle) throws(StoreError) in
            if try handle.identity().epoch == epoch { try handle.renewEpoch() }
        }
    }

    /// Gives the store the epoch of a store which it takes the place of.
    package func setEpoch(_ epoch: UInt64) async throws {
        try await changeIdentity { (handle) throws(StoreError) in try handle.renewEpoch(to: epoch) }
    }

    private func changeIdentity(_ change: @Sendable (inout Handle) throws(StoreError) -> Void) async throws {
        let writer = writer
        let epoch = try await writer.write([Self.ownPartition]) { _ in
            try writer.connection.use { (handle) throws(StoreError) in
                try change(&handle)
                return try handle.identity().epoch
            }
        }
        heldEpoch.store(epoch, ordering: .releasing)
    }

    /// Named in writes that change the file's own table and no entry.
    private static let ownPartition = Partition("store")

    /// Whether no partition holds anything.
    package func isEmpty() async throws -> Bool {
        let connection = try await readers.take()
        defer { readers.give(connection) }
        return try connection.use { (handle) throws(StoreError) in
            try handle.first(.anyEntry, step: { $0.step() }, take: { _ in false }) ?? true
        }
    }

    /// Finishes calls under way, moves everything into the one file unless another process has it open, and closes it. Later
    /// calls fail with `closed`; closing again does nothing.
    package func close() async {
        await closing.withLock {
            await readers.close()
            await writer.close()
            hints.finish()
        }
    }
}
