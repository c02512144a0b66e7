import CloudKitRecordLayer
import Synchronization

/// Requests that wait for notifications, by the partition in which those will be queued.
final class LongPollWaiters: Sendable {
    enum Outcome: Hashable, Sendable {
        /// The queue has changed; the number distinguishes this change from later ones.
        case woken(UInt64)
        case over
    }

    private struct Wait: Sendable {
        var hash: [UInt8]
        /// By the clock that only runs forward.
        var ends: Duration
        /// Called once, without the lock.
        var end: @Sendable (Outcome) -> Void
    }

    private struct Watch: Sendable {
        /// Requests that read or wait.
        var requests = 0
        /// Grows with each change of the queue.
        var stamp: UInt64 = 0
        /// The newest position in the queue for which a request was woken.
        var sequence: UInt64?
        var waits: [UInt64: Wait] = [:]
    }

    private struct State: Sendable {
        var watches: [StoragePartition: Watch] = [:]
        var count = 0
        var nextID: UInt64 = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.count } }

    /// Begins to notice changes, before the queue is read: what comes meanwhile wakes at once.
    func enter(_ partition: StoragePartition) -> UInt64 {
        state.withLock { state in
            state.watches[partition, default: Watch()].requests += 1
            return state.watches[partition]?.stamp ?? 0
        }
    }

    func leave(_ partition: StoragePartition) {
        state.withLock { state in
            guard var watch = state.watches.removeValue(forKey: partition) else { return }
            watch.requests -= 1
            if watch.requests > 0 { state.watches[partition] = watch }
        }
    }

    /// Calls a function when the queue changes after `stamp`, the time is over or more requests of the same device arrive than may
    /// wait: at once, where that is so already.
    ///
    /// - Parameters:
    ///   - ends: The end of the waiting time, by the monotonic clock; a time that is not after `now` does not wait.
    /// - Returns: The number of the wait, by which it can be ended.
    func wait(
        _ address: LongPollAddress, after stamp: UInt64, until ends: Duration, now: Duration, sharedBy max: Int,
        end: @escaping @Sendable (Outcome) -> Void
    ) -> UInt64 {
        let wait = Wait(hash: address.hash, ends: ends, end: end)
        let (id, ended) = begin(wait, in: address.partition, after: stamp, now: now, sharedBy: max)
        for (wait, outcome) in ended { wait.end(outcome) }
        return id
    }

    /// Adds a wait.
    ///
    /// - Returns: Its number, and what ends at once, be it this one or an older one of the same device.
    private func begin(
        _ wait: Wait, in partition: StoragePartition, after stamp: UInt64, now: Duration, sharedBy max: Int
    ) -> (UInt64, [(Wait, Outcome)]) {
        state.withLock { state in
            state.nextID += 1
            let id = state.nextID
            guard var watch = state.watches.removeValue(forKey: partition) else { return (id, [(wait, .over)]) }
            defer { state.watches[partition] = watch }
            if watch.stamp > stamp { return (id, [(wait, .woken(watch.stamp))]) }
            if state.isClosed || wait.ends <= now { return (id, [(wait, .over)]) }
            let older = watch.waits.filter { $0.value.hash == wait.hash }.sorted { $0.key < $1.key }
            let excess = older.prefix(Swift.max(0, older.count + 1 - max))
            for (id, _) in excess { watch.waits[id] = nil }
            watch.waits[id] = wait
            state.count += 1 - excess.count
            return (id, excess.map { ($0.value, .over) })
        }
    }

    /// Ends a wait before its time; nothing happens if it has ended.
    func end(_ id: UInt64, in partition: StoragePartition) {
        let wait = state.withLock { state -> Wait? in
            guard let wait = state.watches[partition]?.waits.removeValue(forKey: id) else { return nil }
            state.count -= 1
            return wait
        }
        wait?.end(.over)
    }

    func isAwaited(_ partition: StoragePartition) -> Bool { state.withLock { $0.watches[partition] != nil } }

    /// Wakes the requests that wait for a partition whose queue has grown, unless this growth woke them before.
    func wake(_ partition: StoragePartition, upTo sequence: UInt64) {
        let (waits, stamp) = state.withLock { state in
            guard var watch = state.watches.removeValue(forKey: partition) else { return ([Wait](), UInt64(0)) }
            defer { state.watches[partition] = watch }
            if let known = watch.sequence, known >= sequence { return ([], 0) }
            watch.sequence = sequence
            watch.stamp += 1
            let waits = Array(watch.waits.values)
            watch.waits = [:]
            state.count -= waits.count
            return (waits, watch.stamp)
        }
        for wait in waits { wait.end(.woken(stamp)) }
    }

    /// Ends the waits whose time is over.
    func end(before now: Duration) {
        let waits = state.withLock { state in
            var over: [Wait] = []
            for (partition, watch) in state.watches {
                for (id, wait) in watch.waits where wait.ends <= now {
                    state.watches[partition]?.waits[id] = nil
                    over.append(wait)
                }
            }
            state.count -= over.count
            return over
        }
        for wait in waits { wait.end(.over) }
    }

    /// Ends all waits; later requests do not wait.
    func close() {
        let wasClosed = state.withLock { state in
            defer { state.isClosed = true }
            return state.isClosed
        }
        if wasClosed { return }
        end(before: .seconds(Int64.max))
    }
}
