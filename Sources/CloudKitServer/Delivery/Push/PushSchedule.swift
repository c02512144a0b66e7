import CloudKitRecordLayer

/// The partitions that push delivery visits, and when. Times are milliseconds since 1970.
///
/// Each is looked at by one at a time, at once when something happens there, and again when a message is to be tried again. After
/// something was sent a partition rests for a moment: later changes replace one another in the queue, and a person is
/// not notified of every keystroke.
struct PushSchedule: Sendable {
    /// Partitions looked at together.
    static let workersMax = 64
    /// Milliseconds.
    static let pause: Int64 = 1_000

    private enum State: Hashable {
        case ready
        /// - Parameter isDirty: Whether something happened since.
        case underway(isDirty: Bool)
        /// - Parameter isPausing: Whether what happens is left until then.
        case waiting(until: Int64, isPausing: Bool)
    }

    private var states: [StoragePartition: State] = [:]
    private var ready: [StoragePartition] = []
    private var firstReady = 0
    private var workers = 0
    private var nextDue = Int64.max
    /// The latest time that was passed in.
    private var latest: Int64 = 0

    /// Notes that a partition has changed.
    mutating func note(_ partition: StoragePartition) {
        switch states[partition] {
        case .ready, .waiting(_, true): return
        case .underway: states[partition] = .underway(isDirty: true)
        case .waiting(_, false), nil: makeReady(partition)
        }
    }

    /// Begins the next visit and returns its partition; nil: none is due, or enough are being visited.
    mutating func begin(now: Int64) -> StoragePartition? {
        wake(now: now)
        guard workers < Self.workersMax, firstReady < ready.count else { return nil }
        let partition = ready[firstReady]
        firstReady += 1
        if firstReady == ready.count {
            ready.removeAll(keepingCapacity: true)
            firstReady = 0
        }
        states[partition] = .underway(isDirty: false)
        workers += 1
        return partition
    }

    /// Ends the visit of a partition.
    ///
    /// - Parameters:
    ///   - hasSent: Whether something was sent.
    ///   - again: The time of the next visit, also without a change; nil: at the next change.
    mutating func end(_ partition: StoragePartition, hasSent: Bool, again: Int64?, now: Int64) {
        guard case .underway(let isDirty) = states[partition] else { return }
        workers -= 1
        if hasSent {
            wait(partition, until: now + Self.pause, isPausing: true)
        } else if isDirty {
            makeReady(partition)
        } else if let again {
            wait(partition, until: again, isPausing: false)
        } else {
            states[partition] = nil
        }
    }

    /// Readies the partitions that are due. When the clock was set back that is unknown, and all are visited: a visit costs little.
    private mutating func wake(now: Int64) {
        let wasSetBack = now < latest - Self.pause
        latest = wasSetBack ? now : max(latest, now)
        guard nextDue <= now || wasSetBack else { return }
        nextDue = .max
        for (partition, state) in states {
            guard case .waiting(let until, _) = state else { continue }
            if until <= now || wasSetBack { makeReady(partition) } else { nextDue = min(nextDue, until) }
        }
    }

    private mutating func makeReady(_ partition: StoragePartition) {
        states[partition] = .ready
        ready.append(partition)
    }

    private mutating func wait(_ partition: StoragePartition, until due: Int64, isPausing: Bool) {
        states[partition] = .waiting(until: due, isPausing: isPausing)
        nextDue = min(nextDue, due)
    }
}
