import CloudBackup
import CloudKitHTTP
import Logging
import ServiceLifecycle
import Synchronization

/// Backs a cloud up at intervals, while it runs.
struct BackupService: Service {
    var schedule: BackupSchedule
    var metrics: RequestMetrics
    var logger: Logger

    /// The longest pause after a failure.
    private static let retryMax = Duration.seconds(300)

    func run() async {
        let isStopping = StopFlag()
        await withTaskCancellationOrGracefulShutdownHandler {
            await cancelWhenGracefulShutdown { await takeAll(isStopping) }
        } onCancelOrGracefulShutdown: {
            isStopping.set()
        }
    }

    private func takeAll(_ isStopping: StopFlag) async {
        let interval = schedule.monitor.status.interval
        while !Task.isCancelled {
            let status = schedule.monitor.status
            let due = (status.lastTime ?? 0) + interval * 1000 - schedule.now()
            // A clock that was set back must not put the next backup off.
            let wait = Duration.milliseconds(min(max(0, due), interval * 1000))
            guard (try? await Task.sleep(for: wait)) != nil else { return }
            if await !take(isStopping) {
                guard (try? await Task.sleep(for: min(.seconds(interval), Self.retryMax))) != nil else { return }
            }
        }
    }

    /// - Returns: Whether it went well.
    private func take(_ isStopping: StopFlag) async -> Bool {
        let orders = OperatorLog(logger: logger, log: schedule.log, now: schedule.now)
        do {
            let schedule = schedule
            let manifest = try await orders.report("backup", by: "schedule", in: nil) {
                try await CloudMoments.onThread {
                    let backup = try Backup.begin(schedule.place, schedule.access)
                    let manifest = try schedule.moments.take(into: backup) { isStopping.isSet }
                    _ = try PruneMoments(backup).run(keeping: schedule.keep)
                    return manifest
                }
            }
            schedule.monitor.took(manifest)
            metrics.backupTaken(bytesAdded: manifest.counts.bytesAdded)
            return true
        } catch is CancellationError {
            return false
        } catch {
            metrics.backupFailed()
            logger.error("the backup failed", metadata: ["error": .string(String(describing: error))])
            return false
        }
    }
}

/// Says to a thread that its work is to end.
final class StopFlag: Sendable {
    private let state = Atomic(false)

    var isSet: Bool { state.load(ordering: .relaxed) }

    func set() { state.store(true, ordering: .relaxed) }
}
