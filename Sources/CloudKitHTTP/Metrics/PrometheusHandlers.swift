import CoreMetrics
import Synchronization

/// A number that grows.
final class PrometheusCounter: CounterHandler {
    private let count = Atomic<Int64>(0)

    var value: Int64 { count.load(ordering: .relaxed) }

    func increment(by amount: Int64) { count.add(amount, ordering: .relaxed) }

    func reset() { count.store(0, ordering: .relaxed) }
}

/// A number that goes up and down.
final class PrometheusGauge: MeterHandler, RecorderHandler {
    private let state = Mutex(0.0)

    var value: Double { state.withLock { $0 } }

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { state.withLock { $0 = value } }
    func increment(by amount: Double) { state.withLock { $0 += amount } }
    func decrement(by amount: Double) { state.withLock { $0 -= amount } }
    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }
}

/// Observations, counted in buckets by their size; those of time in seconds.
final class PrometheusHistogram: TimerHandler, RecorderHandler {
    /// Upper ends of the buckets.
    static let buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

    struct Observations: Sendable {
        /// One more than the buckets: the last one has those above all.
        var counts = [Int](repeating: 0, count: PrometheusHistogram.buckets.count + 1)
        var sum = 0.0
    }

    private let state = Mutex(Observations())

    var observations: Observations { state.withLock { $0 } }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        let bucket = Self.buckets.firstIndex { value <= $0 } ?? Self.buckets.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }
}
