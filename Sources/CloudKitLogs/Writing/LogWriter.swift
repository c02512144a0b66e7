import Synchronization

/// Writes what waits in a buffer, off the path of requests: lines five times a second, entries each second, and telemetry each tenth.
package final class LogWriter: Sendable {
    /// An outcome that the operator's log reports.
    package enum Event: Hashable, Sendable {
        /// Reports were dropped: they came faster than they could be written.
        case dropped(Int)
        /// Entries could not be written and are lost.
        case failed(LogStoreError, entries: Int)
    }

    private let buffer: LogBuffer
    private let store: (any LogStore)?
    private let retention: LogRetention
    private let now: @Sendable () -> Int64
    private let writeLines: @Sendable ([ReportLine]) -> Void
    private let report: @Sendable (Event) -> Void
    private let state = Mutex(State())

    private struct State {
        /// Entries that are not in the store yet, in the batches in which they will be written.
        var batches: [[LogEntry]] = []
        var collector = TelemetryCollector()

        mutating func add(_ entry: consuming LogEntry) {
            collector.add(entry)
            if batches.isEmpty || batches[batches.count - 1].count >= LogWriter.batchMax { batches.append([]) }
            batches[batches.count - 1].append(entry)
        }
    }

    /// The pause between two looks into the buffer.
    package static let pause = Duration.milliseconds(200)
    /// Entries of one transaction.
    package static let batchMax = 1000
    /// Looks into the buffer between two rounds of writing entries.
    private static let looksBetweenWriting = 5
    /// Looks between two rounds of writing telemetry and of removing old entries.
    private static let looksBetweenPruning = 50
    /// Steps of one round of removing.
    private static let pruningStepsMax = 64

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - store: Keeps the entries; nil where only lines are wanted.
    ///   - now: Milliseconds since 1970.
    ///   - report: Called with what the operator should know.
    ///   - writeLines: Writes lines, in the order of their reports.
    package init(
        buffer: LogBuffer, store: (any LogStore)?, retention: LogRetention, now: @escaping @Sendable () -> Int64,
        report: @escaping @Sendable (Event) -> Void, writeLines: @escaping @Sendable ([ReportLine]) -> Void = { _ in }
    ) {
        self.buffer = buffer
        self.store = store
        self.retention = retention
        self.now = now
        self.writeLines = writeLines
        self.report = report
    }

    /// Writes until the task is cancelled, and once more after that.
    ///
    /// - Parameter sleep: Waits, and throws when the task is cancelled.
    package func run(sleep: @Sendable (Duration) async throws -> Void) async {
        var looks = 0
        while !Task.isCancelled {
            try? await sleep(Self.pause)
            looks += 1
            takeReports()
            guard looks % Self.looksBetweenWriting == 0 else { continue }
            let isPruning = looks % Self.looksBetweenPruning == 0
            await writeEntries(withTelemetry: isPruning)
            if isPruning { await prune() }
        }
        await write()
    }

    /// Writes what waits now.
    ///
    /// - Parameter withTelemetry: Whether the counts are written, too. They cost several rows for each combination, however many
    ///   requests it counts.
    package func write(withTelemetry: Bool = true) async {
        takeReports()
        await writeEntries(withTelemetry: withTelemetry)
    }

    /// Makes lines and entries of the reports that wait, and writes the lines.
    private func takeReports() {
        let content = buffer.take()
        if content.dropped > 0 { report(.dropped(content.dropped)) }
        guard !content.reports.isEmpty else { return }
        var lines: [ReportLine] = []
        lines.reserveCapacity(content.reports.count)
        state.withLock { state in
            for report in content.reports {
                if let line = report.makeLine() { lines.append(line) }
                if store != nil, let entry = report.makeEntry() { state.add(entry) }
            }
        }
        if !lines.isEmpty { writeLines(lines) }
    }

    private func writeEntries(withTelemetry: Bool) async {
        let (batches, samples) = state.withLock { state in
            defer { state.batches = [] }
            return (state.batches, withTelemetry ? state.collector.take() : [])
        }
        for batch in batches { await append(batch, []) }
        if !samples.isEmpty { await append([], samples) }
    }

    private func append(_ batch: [LogEntry], _ samples: [TelemetrySample]) async {
        do throws(LogStoreError) {
            try await store?.append(batch, telemetry: samples)
        } catch {
            report(.failed(error, entries: batch.count))
        }
    }

    /// Removes entries beyond the bounds, in small steps.
    package func prune() async {
        guard let store else { return }
        do throws(LogStoreError) {
            for _ in 0..<Self.pruningStepsMax {
                guard try await store.prune(retention, now: now()) else { return }
            }
        } catch {
            report(.failed(error, entries: 0))
        }
    }
}
