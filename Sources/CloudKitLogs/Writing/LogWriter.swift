import Synchronization

/// Writes the entries of a buffer to a store, off the path of requests: each second, and at once where many wait.
package final class LogWriter: Sendable {
    /// An outcome that the operator's log reports.
    package enum Event: Hashable, Sendable {
        /// Entries were dropped: they came faster than they could be written.
        case dropped(Int)
        /// Entries could not be written and are lost.
        case failed(LogStoreError, entries: Int)
    }

    private let buffer: LogBuffer
    private let store: any LogStore
    private let retention: LogRetention
    private let now: @Sendable () -> Int64
    private let report: @Sendable (Event) -> Void
    private let collector = Mutex(TelemetryCollector())

    /// The pause between two batches.
    package static let pause = Duration.seconds(1)
    /// Entries of one transaction.
    package static let batchMax = 1000
    /// Pauses between two rounds of writing telemetry and of removing old entries.
    private static let roundsBetweenPruning = 10
    /// Steps of one round of removing.
    private static let pruningStepsMax = 64

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - now: Milliseconds since 1970.
    ///   - report: Called with what the operator should know.
    package init(
        buffer: LogBuffer, store: any LogStore, retention: LogRetention, now: @escaping @Sendable () -> Int64,
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.buffer = buffer
        self.store = store
        self.retention = retention
        self.now = now
        self.report = report
    }

    /// Writes until the task is cancelled, and once more after that.
    ///
    /// - Parameter sleep: Waits, and throws when the task is cancelled.
    package func run(sleep: @Sendable (Duration) async throws -> Void) async {
        var rounds = 0
        while !Task.isCancelled {
            try? await sleep(Self.pause)
            rounds += 1
            let isTenth = rounds % Self.roundsBetweenPruning == 0
            await write(withTelemetry: isTenth)
            if isTenth { await prune() }
        }
        await write()
    }

    /// Writes what waits now.
    ///
    /// - Parameter withTelemetry: Whether the counts are written, too. They cost several rows for each combination, however many
    ///   requests it counts.
    package func write(withTelemetry: Bool = true) async {
        let (entries, dropped) = buffer.take()
        if dropped > 0 { report(.dropped(dropped)) }
        var rest = entries[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(Self.batchMax))
            rest = rest.dropFirst(batch.count)
            collector.withLock { collector in
                for entry in batch { collector.add(entry) }
            }
            await append(batch, [])
        }
        if withTelemetry {
            let samples = collector.withLock { $0.take() }
            if !samples.isEmpty { await append([], samples) }
        }
    }

    private func append(_ batch: [LogEntry], _ samples: [TelemetrySample]) async {
        do throws(LogStoreError) {
            try await store.append(batch, telemetry: samples)
        } catch {
            report(.failed(error, entries: batch.count))
        }
    }

    /// Removes entries beyond the bounds, in small steps.
    package func prune() async {
        do throws(LogStoreError) {
            for _ in 0..<Self.pruningStepsMax {
                guard try await store.prune(retention, now: now()) else { return }
            }
        } catch {
            report(.failed(error, entries: 0))
        }
    }
}
