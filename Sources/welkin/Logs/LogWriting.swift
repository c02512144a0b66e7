import CloudKitHTTP
import CloudKitLogs
import CloudKitLogsSQLite
import Logging
import ServiceLifecycle

/// Writes the log of requests and their lines while the cloud runs.
struct LogWriting: Service {
    var buffer: LogBuffer
    /// nil: only the lines.
    var store: SQLiteLogStore?
    var format: LogFormat
    var retention: LogRetention
    var now: @Sendable () -> Int64
    var metrics: RequestMetrics
    var logger: Logger

    func run() async {
        let writer = LogWriter(
            buffer: buffer, store: store, retention: retention, now: now,
            report: { [metrics, logger] in report($0, to: metrics, logger) },
            writeLines: { [format] in Self.write($0, format) })
        await cancelWhenGracefulShutdown { await writer.run { try await Task.sleep(for: $0) } }
    }

    /// Writes lines to standard error, all at once.
    private static func write(_ lines: [ReportLine], _ format: LogFormat) {
        var bytes: [UInt8] = []
        for line in lines {
            format.append(
                line.message, time: LogTime.text(line.time), level: Logger.Level(line.level),
                values: line.values.lazy.map { (name: $0.name, text: $0.text) }, to: &bytes)
        }
        Output.write(bytes, to: 2)
    }

    private func report(_ event: LogWriter.Event, to metrics: RequestMetrics, _ logger: Logger) {
        switch event {
        case .dropped(let count):
            metrics.logEntriesDropped(count)
            logger.warning("entries of the log were dropped", metadata: ["count": .stringConvertible(count)])
        case .failed(let error, let count):
            metrics.logEntriesFailed(count)
            logger.error(
                "the log could not be written",
                metadata: ["error": .string(error.reason), "entries": .stringConvertible(count)])
        }
    }
}

extension DataFolder {
    /// The file of the log of requests.
    var logPath: String { path + "/logs.sqlite" }

    /// Opens the log of requests; nil, with a line for the operator, if it cannot be used: a cloud runs without it.
    func openLog(_ logger: Logger) -> SQLiteLogStore? {
        do throws(LogStoreError) {
            let store = try SQLiteLogStore(path: logPath)
            if let reason = store.setAside {
                logger.error(
                    "the log could not be used and was set aside; a new one begins",
                    metadata: ["reason": .string(reason), "file": .string(logPath + ".set-aside")])
            }
            return store
        } catch {
            logger.error("there is no log of requests", metadata: ["error": .string(error.reason)])
            return nil
        }
    }
}
