/// A metric as Prometheus knows it: all samples of one name.
struct MetricFamily: Hashable, Sendable {
    enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    var name: String
    var kind: Kind
    var help: String
    /// Whether samples are written in the order of their labels; otherwise in the order in which they were made.
    var isSorted = true
}
