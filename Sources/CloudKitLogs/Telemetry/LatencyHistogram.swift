/// Durations counted in buckets whose ends grow by a quarter of a doubling, so that a percentile is off by 19 % at most.
package struct LatencyHistogram: Hashable, Sendable {
    /// Counts by bucket, without empty ones at the end.
    package private(set) var counts: [UInt32] = []

    /// The highest bucket: more than 100 seconds.
    private static let bucketMax = 108

    /// Creates an empty histogram.
    package init() {}

    /// Creates a histogram of stored counts.
    package init(counts: [UInt32]) { self.counts = Array(counts.prefix(Self.bucketMax + 1)) }

    /// The number of durations.
    package var total: Int { counts.reduce(0) { $0 + Int($1) } }

    /// Counts a duration.
    package mutating func add(microseconds: Int) {
        let bucket = Self.bucket(of: microseconds)
        if bucket >= counts.count { counts += [UInt32](repeating: 0, count: bucket + 1 - counts.count) }
        counts[bucket] = counts[bucket].addingReportingOverflow(1).overflow ? .max : counts[bucket] + 1
    }

    /// Adds the counts of another histogram.
    package mutating func add(_ other: LatencyHistogram) {
        if other.counts.count > counts.count {
            counts += [UInt32](repeating: 0, count: other.counts.count - counts.count)
        }
        for (bucket, count) in other.counts.enumerated() {
            let (sum, overflow) = counts[bucket].addingReportingOverflow(count)
            counts[bucket] = overflow ? .max : sum
        }
    }

    /// Returns the duration in milliseconds that a share of all durations do not exceed; nil for an empty histogram.
    ///
    /// - Parameter share: 0.5 for the median, 0.99 for the 99th percentile.
    package func percentile(_ share: Double) -> Double? {
        let total = total
        guard total > 0 else { return nil }
        var left = max(1, Int((Double(total) * share).rounded(.up)))
        for (bucket, count) in counts.enumerated() {
            left -= Int(count)
            if left <= 0 { return Double(Self.upperEnd(of: bucket)) / 1000 }
        }
        return Double(Self.upperEnd(of: counts.count - 1)) / 1000
    }

    /// Returns the bucket of a duration: four for each doubling, from their two bits below the highest one.
    static func bucket(of microseconds: Int) -> Int {
        let value = max(microseconds, 0)
        guard value >= 4 else { return value }
        let exponent = Int.bitWidth - 1 - value.leadingZeroBitCount
        return min((exponent - 1) * 4 + (value >> (exponent - 2)) & 3, bucketMax)
    }

    /// Returns the longest duration of a bucket, in microseconds.
    static func upperEnd(of bucket: Int) -> Int {
        guard bucket >= 4 else { return bucket }
        let exponent = bucket / 4 + 1
        return (4 + bucket % 4 + 1) << (exponent - 2) - 1
    }
}
