import AsyncLocks
import Synchronization

/// The reasons for which the store was given another epoch, so that every device fetches everything again.
package enum EpochRenewal: String, Hashable, Sendable {
    /// The folder holds an older state than the one that was served last.
    case olderThanServed = "the store is older than what was served last"
    /// The log of the store is damaged before its end: commits after the damage are gone.
    case logDamaged = "the store's log is damaged, and the commits after the damage are lost"
    /// The record of what was served last is missing.
    case servedUnknown = "the record of what was served last is missing"
    /// A device presented a token of a later state than the store has.
    case deviceAhead = "a device knows a later state than the store has"
}

/// The renewals of the store's epoch in the life of this process, and the earlier state that the store went back to last.
package final class StoreHistory: Sendable {
    private struct State {
        var renewals: [EpochRenewal] = []
        var unreportedCount = 0
        var restoredTo: Int64?
    }

    private let state = Mutex(State())
    /// Held while the store is prepared for new changes after a device has shown that it went back.
    let turns = AsyncMutex()

    /// Creates an empty history.
    package init() {}

    /// All renewals, the oldest first.
    package var renewals: [EpochRenewal] { state.withLock { $0.renewals } }

    /// The time of the earlier state that the store went back to last, in milliseconds since 1970; 0 if it is not known.
    package var restoredTo: Int64 { state.withLock { $0.restoredTo ?? 0 } }

    /// Returns the version after which a database begins that has given out none: devices may know versions of a lost state of it.
    ///
    /// - Parameter now: Milliseconds since 1970; of a store that went back, databases begin there, as those that it has go on there.
    func versionBeforeFirst(now: Int64) -> UInt64 {
        state.withLock { $0.restoredTo } == nil ? 0 : UInt64(max(0, now))
    }

    /// Notes the time of the earlier state that the store went back to; 0 if it is not known.
    package func note(restoredTo time: Int64) { state.withLock { $0.restoredTo = time } }

    /// Notes that the epoch was renewed.
    package func note(_ renewal: EpochRenewal) {
        state.withLock { state in
            state.renewals.append(renewal)
            state.unreportedCount += 1
        }
    }

    /// Returns the renewals that were noted since the last call.
    package func takeUnreported() -> [EpochRenewal] {
        state.withLock { state in
            defer { state.unreportedCount = 0 }
            return state.renewals.suffix(state.unreportedCount)
        }
    }
}
