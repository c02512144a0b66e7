/// Writes metrics in Prometheus' text format, version 0.0.4.
struct ExpositionPage {
    private(set) var text = ""
    private var name = ""

    mutating func family(_ name: String, _ type: String, _ help: String) {
        self.name = name
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    mutating func sample(_ labels: String, _ value: Int) {
        text += "\(name)\(labels) \(value)\n"
    }

    mutating func single(_ name: String, _ type: String, _ help: String, _ value: Int) {
        family(name, type, help)
        sample("", value)
    }

    /// - Parameter counts: One more than `buckets`: what lies above the last.
    mutating func histogram(_ labels: String, _ buckets: [Double], _ counts: [Int], _ sum: Double) {
        var total = 0
        for (bucket, count) in zip(buckets.map { "\($0)" } + ["+Inf"], counts) {
            total += count
            text += "\(name)_bucket{\(labels),le=\"\(bucket)\"} \(total)\n"
        }
        text += "\(name)_sum{\(labels)} \(sum)\n\(name)_count{\(labels)} \(total)\n"
    }
}
