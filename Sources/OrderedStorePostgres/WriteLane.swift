import OrderedStore
import Synchronization

/// The writers of one partition in this process: one runs its body at a time, users in rotation, and many share a commit.
final class WriteLane: Sendable {
    private struct State {
        var machine = WriteLaneState()
        var batch: WriteBatch?
        /// The last transaction of this lane that is known to be committed: its row is no longer needed.
        var lastRequest: CommitRequest?
        /// What writers expect to read which have not had their turn, and was not read for them.
        var expectedKeys: Set<Bytes> = []
        var expectedRanges: Set<KeyRange> = []
    }

    private let turns = Mutex(TurnQueue<CheckedContinuation<Void, Never>>())
    private let state = Mutex(State())

    /// More are not read ahead in one exchange.
    private static let expectedKeysMax = 512
    private static let expectedRangesMax = 8

    /// A writer comes; `lock` follows.
    ///
    /// - Parameter expected: What it expects to read.
    func announce(expecting expected: ExpectedReads) {
        state.withLock { state in
            state.machine.announce()
            if state.expectedKeys.count + expected.keys.count <= Self.expectedKeysMax {
                state.expectedKeys.formUnion(expected.keys)
            }
            if state.expectedRanges.count + expected.ranges.count <= Self.expectedRangesMax {
                state.expectedRanges.formUnion(expected.ranges)
            }
        }
    }

    /// Returns what waiting writers expect to read, each time something else.
    func takeExpectedReads() -> ExpectedReads {
        state.withLock { state in
            defer { (state.expectedKeys, state.expectedRanges) = ([], []) }
            return ExpectedReads(keys: Array(state.expectedKeys), ranges: Array(state.expectedRanges))
        }
    }

    /// Writers that have not had their turn.
    var writerCount: Int { state.withLock { $0.machine.announcedCount } }

    /// Whether the last batches had writers enough to be waited for.
    var expectsCrowd: Bool { state.withLock { $0.machine.expectsCrowd } }

    /// Returns in the user's turn. Each call is followed by one of `unlock`.
    func lock(for user: String) async {
        await withCheckedContinuation { continuation in
            let isFree = turns.withLock { $0.add(continuation, of: user) }
            if isFree { unlock() }
        }
    }

    /// Gives the turn to the next writer.
    func unlock() { turns.withLock { $0.next() }?.resume() }

    // MARK: Within a turn

    /// The batch that the writer joins; nil: it opens one.
    var openBatch: WriteBatch? {
        state.withLock { $0.machine.turnBegan() == .joinBatch ? $0.batch : nil }
    }

    func noteOpened(_ batch: WriteBatch, at now: UInt64) {
        state.withLock { state in
            state.batch = batch
            state.machine.batchOpened(at: now)
        }
    }

    func noteAdded(byteCount: Int) { state.withLock { $0.machine.writesAdded(byteCount: byteCount) } }

    func noteEnded(from start: UInt64, to end: UInt64) {
        state.withLock { state in
            state.batch = nil
            state.machine.batchEnded(from: start, to: end)
        }
    }

    /// The writer's turn is over.
    ///
    /// - Returns: What follows for the open batch; nil: there is none.
    func endTurn(at now: UInt64) -> (step: GroupCommitPolicy.Step, batch: WriteBatch)? {
        state.withLock { state in
            let step = state.machine.turnEnded(at: now)
            return state.batch.map { (step, $0) }
        }
    }

    /// Returns whether a batch is still open after its wait, and no writer came that will commit it.
    func waitEnded(of batch: WriteBatch) -> Bool { state.withLock { $0.batch === batch && $0.machine.waitEnded() } }

    /// The transaction to forget with the next commit.
    var lastRequest: CommitRequest? {
        get { state.withLock { $0.lastRequest } }
        set { state.withLock { $0.lastRequest = newValue } }
    }
}

/// The lanes of the partitions that have writers, and of a few whose writers have just left together: they come back together, and the
/// lane knows how many they were. Other partitions take no memory.
final class WriteLanes: Sendable {
    private struct State {
        var lanes: [Partition: (lane: WriteLane, count: Int)] = [:]
        /// Those without writers, the one that was left last at the end.
        var idle: [Partition] = []
    }

    private let state = Mutex(State())

    /// More are not remembered.
    static let idleMax = 64

    /// Returns the lane of a partition; each call is followed by one of `leave`.
    func enter(_ partition: Partition) -> WriteLane {
        state.withLock { state in
            let entry = state.lanes[partition]
            if entry?.count == 0 { state.idle.removeAll { $0 == partition } }
            let lane = entry?.lane ?? WriteLane()
            state.lanes[partition] = (lane, (entry?.count ?? 0) + 1)
            return lane
        }
    }

    /// A writer is done.
    ///
    /// - Parameter isRemembered: Whether the lane is kept, if it was the last one: those whose writers are expected back.
    func leave(_ partition: Partition, isRemembered: Bool) {
        state.withLock { state in
            guard let (lane, count) = state.lanes[partition] else { return }
            let isLast = count == 1
            state.lanes[partition] = isLast && !isRemembered ? nil : (lane, count - 1)
            guard isLast, isRemembered else { return }
            state.idle.append(partition)
            if state.idle.count > Self.idleMax { state.lanes[state.idle.removeFirst()] = nil }
        }
    }

    /// The number of partitions with writers, for tests.
    var count: Int { state.withLock { $0.lanes.count - $0.idle.count } }

    /// The number of writers of a partition that have not had their turn, for tests.
    func writerCount(of partition: Partition) -> Int { state.withLock { $0.lanes[partition]?.lane.writerCount ?? 0 } }
}

/// The row that a transaction leaves, so that after a lost connection the server can be asked whether it was committed.
struct CommitRequest: Hashable, Sendable {
    let partition: PartitionKey
    /// Milliseconds since 1970.
    let at: Int64
    let id: Bytes

    var parameters: [PostgresParameter] { [.bytes(partition.bytes), .integer(at), .bytes(id)] }
}
