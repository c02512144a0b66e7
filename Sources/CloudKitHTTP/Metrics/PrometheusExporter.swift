import CoreMetrics
import Synchronization

/// A metrics backend that keeps all values and writes them in Prometheus' text format, version 0.0.4.
package final class PrometheusExporter: MetricsFactory {
    private let series: Mutex<[Series]>

    /// A family and its samples.
    private struct Series: Sendable {
        var family: MetricFamily
        var samples: [Sample] = []
    }

    /// One combination of labels.
    private struct Sample: Sendable {
        var labels: [Label]
        var value: Value

        /// The labels as written in a line, without braces.
        var text: String { labels.map { "\($0.name)=\"\($0.escapedValue)\"" }.joined(separator: ",") }
    }

    private struct Label: Hashable, Sendable {
        var name: String
        var value: String

        var escapedValue: String {
            guard value.contains(where: { "\\\"\n".contains($0) }) else { return value }
            return value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
        }
    }

    private enum Value: Sendable {
        case counter(PrometheusCounter)
        case gauge(PrometheusGauge)
        case histogram(PrometheusHistogram)

        var handler: AnyObject {
            switch self {
            case .counter(let handler): handler
            case .gauge(let handler): handler
            case .histogram(let handler): handler
            }
        }
    }

    /// - Parameter families: Those that are written first, in this order, also while they have no sample. Others follow as they are
    ///   made.
    init(_ families: [MetricFamily]) {
        series = Mutex(families.map { Series(family: $0) })
    }

    /// Creates an exporter that knows no families before their first metric is made.
    package convenience init() { self.init([]) }

    // MARK: Making

    /// Returns the counter of these labels.
    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let value = value(label, .counter, labels: dimensions) { .counter(PrometheusCounter()) }
        guard case .counter(let handler) = value else { return PrometheusCounter() }
        return handler
    }

    /// Returns the gauge of these labels.
    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        gauge(label, dimensions)
    }

    /// Returns the histogram of these labels, or without aggregation the gauge.
    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        aggregate ? histogram(label, dimensions) : gauge(label, dimensions)
    }

    /// Returns the histogram of these labels, in seconds.
    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions)
    }

    private func gauge(_ label: String, _ dimensions: [(String, String)]) -> PrometheusGauge {
        let value = value(label, .gauge, labels: dimensions) { .gauge(PrometheusGauge()) }
        guard case .gauge(let handler) = value else { return PrometheusGauge() }
        return handler
    }

    private func histogram(_ label: String, _ dimensions: [(String, String)]) -> PrometheusHistogram {
        let value = value(label, .histogram, labels: dimensions) { .histogram(PrometheusHistogram()) }
        guard case .histogram(let handler) = value else { return PrometheusHistogram() }
        return handler
    }

    /// Metrics of the same name, kind and labels are one.
    private func value(
        _ name: String, _ kind: MetricFamily.Kind, labels dimensions: [(String, String)], make: () -> Value
    ) -> Value {
        let labels = dimensions.map { Label(name: $0.0, value: $0.1) }
        return series.withLock { series in
            let index: Int
            if let known = series.firstIndex(where: { $0.family.name == name && $0.family.kind == kind }) {
                index = known
            } else {
                index = series.count
                series.append(Series(family: MetricFamily(name: name, kind: kind, help: "")))
            }
            if let sample = series[index].samples.first(where: { $0.labels == labels }) { return sample.value }
            let sample = Sample(labels: labels, value: make())
            series[index].samples.append(sample)
            return sample.value
        }
    }

    // MARK: Removing

    /// Removes a counter.
    package func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    /// Removes a gauge.
    package func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    /// Removes a histogram or a gauge.
    package func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    /// Removes a histogram.
    package func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

    private func remove(_ handler: AnyObject) {
        series.withLock { series in
            for index in series.indices { series[index].samples.removeAll { $0.value.handler === handler } }
        }
    }

    // MARK: Writing

    /// Returns all metrics in Prometheus' text format.
    package func exposition() -> String {
        var text = ""
        for series in series.withLock({ $0 }) {
            let family = series.family
            if !family.help.isEmpty { text += "# HELP \(family.name) \(family.help)\n" }
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            var samples = series.samples
            if family.isSorted {
                samples.sort { $0.labels.lexicographicallyPrecedes($1.labels) { $0.value < $1.value } }
            }
            for sample in samples { write(sample, of: family.name, to: &text) }
        }
        return text
    }

    private func write(_ sample: Sample, of name: String, to text: inout String) {
        let labels = sample.text
        switch sample.value {
        case .counter(let counter): text += "\(name)\(Self.braced(labels)) \(counter.value)\n"
        case .gauge(let gauge): text += "\(name)\(Self.braced(labels)) \(Self.number(gauge.value))\n"
        case .histogram(let histogram):
            let observations = histogram.observations
            let prefix = labels.isEmpty ? "" : labels + ","
            var total = 0
            for (bucket, count) in zip(
                PrometheusHistogram.buckets.map { "\($0)" } + ["+Inf"], observations.counts)
            {
                total += count
                text += "\(name)_bucket{\(prefix)le=\"\(bucket)\"} \(total)\n"
            }
            text += "\(name)_sum\(Self.braced(labels)) \(observations.sum)\n"
            text += "\(name)_count\(Self.braced(labels)) \(total)\n"
        }
    }

    private static func braced(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }

    /// Returns a whole number without a decimal point.
    private static func number(_ value: Double) -> String { Int64(exactly: value).map { "\($0)" } ?? "\(value)" }
}
