import CloudKitHTTP
import CloudKitLogs
import Logging
import ServiceLifecycle

/// Watches telemetry and the disk by the operator's rules, while the cloud runs.
struct AlertService: Service {
    var file: AlertFile
    var log: any LogStore
    var monitor: StorageMonitor
    var sender: AlertSender
    var now: @Sendable () -> Int64
    var logger: Logger

    private static let pause = Duration.seconds(15)

    func run() async {
        await cancelWhenGracefulShutdown {
            var lastProblem: String?
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.pause)
                if Task.isCancelled { return }
                do {
                    try await watch()
                    lastProblem = nil
                } catch {
                    let problem = String(describing: error)
                    if problem != lastProblem {
                        logger.warning("alerts cannot be checked", metadata: ["error": .string(problem)])
                    }
                    lastProblem = problem
                }
            }
        }
    }

    /// Measures by every rule and reports what begins and ends.
    func watch() async throws {
        let rules = try file.rules().rules
        var episodes = file.episodes()
        let before = episodes
        let now = now()
        let values = try await values(of: rules, now: now)
        let events = episodes.update(rules, values: values, now: now)
        if episodes != before { try file.write(episodes) }
        for event in events { await sender.send(event) }
    }

    private func values(of rules: [AlertRule], now: Int64) async throws -> [String: Double] {
        let disk = monitor.status.map {
            AlertDisk(
                freeBytes: $0.freeBytes, storeBytes: $0.storeBytes, isWritable: $0.isWritable,
                backupAge: $0.backup?.age(at: now), backupLag: $0.backup?.lag(at: now))
        }
        let longest = rules.map(\.minutes).max() ?? 0
        guard longest > 0 else { return [:] }
        let current = TelemetryResolution.minute.start(of: now)
        // The running minute counts as well, so that an alert does not wait for its end.
        let points = try await log.telemetry(
            TelemetryQuery(from: current - Int64(longest) * 60_000, to: current + 60_000, resolution: .minute))
        var values: [String: Double] = [:]
        for rule in rules {
            let start = current - Int64(rule.minutes) * 60_000
            values[rule.name] = rule.value(points.filter { $0.start >= start }, disk: disk)
        }
        return values
    }
}
