import CloudBackup
import CloudKitHTTP
import Logging
import ServiceLifecycle
import Synchronization

/// Sends the changes of a cloud to its backup all the time, and takes moments between.
struct ContinuousBackupService: Service {
    var schedule: BackupSchedule
    var metrics: RequestMetrics
    var logger: Logger

    /// The pause after a failure, and the longest one.
    private static let retry = Duration.seconds(5)
    private static let retryMax = Duration.seconds(300)
    /// The time in which the loop of moments notices an end.
    private static let step = Duration.milliseconds(250)

    func run() async {
        let isStopping = StopFlag()
        await withTaskCancellationOrGracefulShutdownHandler {
            var pause = Self.retry
            while !isStopping.isSet {
                let began = schedule.now()
                await runSeries(isStopping)
                // One that held for a while is begun again at once.
                if schedule.now() - began > 60_000 { pause = Self.retry }
                var waited = Duration.zero
                while waited < pause, !isStopping.isSet {
                    try? await Task.sleep(for: Self.step)
                    waited += Self.step
                }
                pause = min(pause * 2, Self.retryMax)
            }
        } onCancelOrGracefulShutdown: {
            isStopping.set()
        }
    }

    /// Runs one series of changes until it fails or the cloud stops.
    private func runSeries(_ isStopping: StopFlag) async {
        let schedule = schedule
        let series: ContinuousBackup
        do {
            series = try await CloudMoments.onThread { try ContinuousBackup(schedule) }
        } catch {
            return fail(error)
        }
        let isLooking = StopFlag()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await CloudMoments.onThread { series.look { isStopping.isSet } }
                isLooking.set()
            }
            group.addTask { [self] in
                try? await CloudMoments.onThread {
                    series.send(while: { !isLooking.isSet }, report: { note(series, changesUntil: $0, failure: $1) })
                }
            }
            group.addTask { [self] in await takeMoments(series, isStopping) }
        }
        if let error = series.error { fail(error) }
    }

    private func note(_ series: ContinuousBackup, changesUntil time: Int64, failure: (any Error)?) {
        if series.isRestorable { schedule.monitor.update { $0.changesTime = time } }
        guard let failure else { return }
        logger.warning(
            "changes cannot be sent to the backup", metadata: ["error": .string(String(describing: failure))])
    }

    private func fail(_ error: any Error) {
        if error is CancellationError { return }
        metrics.backupFailed()
        logger.error("the backup failed", metadata: ["error": .string(String(describing: error))])
    }

    /// Takes a moment at the start of the series, without which its changes are of no use, and then at intervals.
    private func takeMoments(_ series: ContinuousBackup, _ isStopping: StopFlag) async {
        let orders = OperatorLog(logger: logger, log: schedule.log, now: schedule.now)
        let interval = schedule.monitor.status.interval * 1000
        var due = schedule.now()
        var hasMoment = false
        while !isStopping.isSet, !series.hasEnded {
            guard schedule.now() >= due else {
                try? await Task.sleep(for: Self.step)
                continue
            }
            do {
                let manifest = try await orders.report("backup", by: "schedule", in: nil) {
                    try await CloudMoments.onThread { try series.take { isStopping.isSet } }
                }
                schedule.monitor.took(manifest)
                metrics.backupTaken(bytesAdded: manifest.counts.bytesAdded)
                hasMoment = true
                due = schedule.now() + interval
            } catch is CancellationError {
                continue
            } catch {
                // Without its first moment a series is of no use.
                guard hasMoment else { return series.end(error) }
                fail(error)
                due = schedule.now() + min(interval, 300_000)
            }
        }
    }
}

extension BackupMonitor {
    /// Notes a moment that was taken.
    func took(_ manifest: BackupManifest) {
        let counts = manifest.counts
        update { status in
            status.lastTime = manifest.time
            status.duration = counts.duration
            status.bytesAdded = counts.bytesAdded
            status.bytes = counts.storeBytes + counts.assetBytes
        }
    }
}
