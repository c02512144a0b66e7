import Synchronization

/// The state of the backups that a cloud takes by itself.
package struct BackupStatus: Hashable, Sendable {
    /// The time between two backups, in seconds.
    package var interval: Int64
    /// The time of the newest whole backup, in milliseconds since 1970; nil: there is none.
    package var lastTime: Int64?
    /// Since when a backup is due if there is none yet, in milliseconds since 1970.
    package var start: Int64
    /// The time that the newest one took, in milliseconds.
    package var duration: Int64 = 0
    /// The bytes that it added.
    package var bytesAdded: Int64 = 0
    /// The bytes of all that it holds: the store and the files.
    package var bytes: Int64 = 0

    /// The time until which all changes are at the backup, in milliseconds since 1970; nil: they are not sent between moments.
    package var changesTime: Int64?

    /// The lag in milliseconds from which on changes are late.
    package static let lagMax: Int64 = 30_000

    /// Creates the state of a schedule that begins.
    package init(interval: Int64, start: Int64, lastTime: Int64? = nil) {
        self.interval = interval
        self.start = start
        self.lastTime = lastTime
    }

    /// Returns the age of the newest backup in seconds; without one, the time since the schedule began.
    package func age(at now: Int64) -> Int64 { max(0, now - (lastTime ?? start)) / 1000 }

    /// Returns the milliseconds by which the backup is behind the cloud; nil: changes are not sent between moments.
    package func lag(at now: Int64) -> Int64? { changesTime.map { max(0, now - $0) } }

    /// Returns whether changes do not reach the backup.
    package func isBehind(at now: Int64) -> Bool { lag(at: now) ?? 0 > Self.lagMax }

    /// Returns whether the newest backup is older than two intervals.
    package func isLate(at now: Int64) -> Bool { age(at: now) > 2 * interval }
}

/// Holds the newest state of the backups.
package final class BackupMonitor: Sendable {
    private let state: Mutex<BackupStatus>

    /// Creates a monitor.
    package init(_ status: BackupStatus) { state = Mutex(status) }

    /// The newest state.
    package var status: BackupStatus { state.withLock { $0 } }

    /// Changes the state.
    package func update(_ change: (inout BackupStatus) -> Void) { state.withLock { change(&$0) } }
}
