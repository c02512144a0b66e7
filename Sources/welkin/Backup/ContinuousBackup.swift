import CloudBackup
import Foundation
import OrderedStoreSQLite
import Synchronization

/// A cloud whose changes are sent to its backup all the time: what looks, what sends, and what takes moments, on a thread each.
final class ContinuousBackup: @unchecked Sendable {
    // Unchecked: `follower` and `changes` are used by the thread of `look` alone, `sender` by that of `send`, `backup` by that of moments; the rest is safe for all.
    private let backup: Backup
    private let follower: LogFollower
    private let changes: CloudChanges
    private let sender: ChangeSender
    private let moments: CloudMoments
    private let keep: Int
    private let now: @Sendable () -> Int64
    private let failure = Mutex<(any Error)?>(nil)
    private let isOver = Atomic(false)
    private let hasMoment = Atomic(false)

    /// What is sent.
    let stream: ChangeStream

    /// Microseconds between two looks.
    private static let lookPause: UInt32 = 200_000
    /// Microseconds after which to see whether there is something to send.
    private static let sendPause: UInt32 = 50_000
    /// The pauses between attempts to send, in microseconds.
    private static let retryPauses: [UInt32] = [500_000, 1_000_000, 2_000_000, 5_000_000]
    /// The time that the last changes have when the cloud stops, in milliseconds.
    private static let lastTime: Int64 = 5_000

    /// Begins a series of changes. A moment has to follow.
    ///
    /// - Throws: `BackupError`, and the errors of the store.
    init(_ schedule: BackupSchedule) throws {
        let moments = schedule.moments
        let now = schedule.now
        backup = try Backup.begin(schedule.place, schedule.access)
        follower = try LogFollower(path: moments.storePath)
        let series = String(UInt64.random(in: .min ... .max), radix: 16)
        stream = ChangeStream(backup, series: series, at: now())
        backup.activeSeries = series
        changes = try CloudChanges(stream, now: now, source: moments.source)
        sender = ChangeSender(stream, backup, source: moments.source)
        self.moments = moments
        self.now = now
        keep = schedule.keep
    }

    /// Why the series ended; nil while it goes on, and after an orderly end.
    var error: (any Error)? { failure.withLock { $0 } }

    /// Whether the series has ended.
    var hasEnded: Bool { isOver.load(ordering: .acquiring) }

    /// Whether the series has a moment: before, nothing of it can be restored.
    var isRestorable: Bool { hasMoment.load(ordering: .acquiring) }

    /// Ends the series.
    func end(_ error: (any Error)? = nil) {
        failure.withLock { held in if held == nil { held = error } }
        isOver.store(true, ordering: .releasing)
    }

    private func lookOnce() throws {
        try changes.look {
            try follower.advance().map {
                StoreChanges(pageBytes: LogFollower.pageBytes, pageCount: $0.pageCount, pages: $0.pages)
            }
        }
        if stream.status.isBroken { throw TooMuchWaits() }
    }

    /// Looks until the series ends or the cloud stops. Blocks.
    func look(until isStopping: @Sendable () -> Bool) {
        defer { follower.close() }
        do {
            while !hasEnded {
                let isLast = isStopping()
                try lookOnce()
                if isLast { return }
                usleep(Self.lookPause)
            }
        } catch {
            stream.fail()
            end(error)
        }
    }

    /// Sends until the series ends, or until nothing is left once the cloud stops. Blocks.
    ///
    /// - Parameters:
    ///   - isLooking: Whether more may come.
    ///   - report: Called now and then with the time until which everything is at the place, and with each failure.
    func send(while isLooking: @Sendable () -> Bool, report: (Int64, (any Error)?) -> Void) {
        var failures = 0
        var end = Int64.max
        while !hasEnded {
            let mayMore = isLooking()
            if !mayMore, end == .max { end = now() + Self.lastTime }
            do {
                let hasSent = try sender.send()
                failures = 0
                report(stream.status.time, nil)
                if hasSent { continue }
                if !mayMore { return }
                usleep(Self.sendPause)
            } catch let error as BackupError where error.code != .busy {
                report(stream.status.time, failures == 0 ? error : nil)
                if now() > end { return }
                usleep(Self.retryPauses[min(failures, Self.retryPauses.count - 1)])
                failures += 1
            } catch {
                self.end(error)
            }
        }
    }

    /// Takes a moment and removes old ones. Blocks.
    ///
    /// - Throws: `BackupError`, `CancellationError`, and the errors of the store.
    func take(isCancelled: @escaping @Sendable () -> Bool) throws -> BackupManifest {
        let manifest = try moments.take(into: backup, beside: stream) { [self] in isCancelled() || hasEnded }
        hasMoment.store(true, ordering: .releasing)
        _ = try PruneMoments(backup).run(keeping: keep)
        return manifest
    }
}

/// The place is away for so long that a moment costs less than what waits.
struct TooMuchWaits: Error, CustomStringConvertible {
    let description = "more changes wait for the backup than are kept in memory; a new moment follows"
}
