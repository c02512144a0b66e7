/// The requests that senders may still send: each has an allowance that is used up by requests and fills up again over time.
///
/// Pure: time is passed in. A sender whose allowance is full again is forgotten.
package struct RateLimiter: Sendable {
    /// The allowance of a sender who has been quiet.
    let burst: Double
    /// The part of an allowance that comes back in a second.
    let perSecond: Double

    private struct Allowance {
        var left: Double
        /// Milliseconds since 1970.
        var time: Int64
    }

    private var allowances: [String: Allowance] = [:]
    private var nextSweep = sweepMin
    private static let sweepMin = 1024

    /// Creates a limiter.
    ///
    /// - Parameters:
    ///   - burst: At least 1.
    ///   - perSecond: More than 0.
    package init(burst: Double, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
    }

    /// The number of senders whose allowance is not full.
    var senderCount: Int { allowances.count }

    /// Counts requests of a sender, or returns the seconds after which they can be sent.
    ///
    /// - Parameters:
    ///   - count: More than `burst` waits for a full allowance and uses it up.
    ///   - nodes: The nodes that count for themselves; together they give what one would.
    package mutating func take(_ count: Int = 1, by sender: String, at now: Int64, among nodes: Int = 1) -> Double? {
        // A request uses up the allowances of the others, too: what it takes beyond this one's comes back later.
        let used = min(Double(count), burst) * Double(max(1, nodes))
        let wanted = min(used, burst)
        let left = left(of: sender, at: now)
        guard left >= wanted else { return (wanted - left) / perSecond }
        if allowances[sender] == nil, allowances.count >= nextSweep { sweep(at: now) }
        allowances[sender] = Allowance(left: left - used, time: now)
        return nil
    }

    private func left(of sender: String, at now: Int64) -> Double {
        guard let known = allowances[sender] else { return burst }
        // A clock that was set back gives nothing and takes nothing.
        return min(burst, known.left + Double(max(0, now - known.time)) / 1000 * perSecond)
    }

    /// Forgets senders whose allowance is full; as seldom as that keeps the work for each request small.
    private mutating func sweep(at now: Int64) {
        for sender in Array(allowances.keys) where left(of: sender, at: now) >= burst { allowances[sender] = nil }
        nextSweep = max(Self.sweepMin, allowances.count * 2)
    }
}
