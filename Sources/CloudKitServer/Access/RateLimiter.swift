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
    /// - Parameter count: More than `burst` waits for a full allowance and uses it up.
    package mutating func take(_ count: Int = 1, by sender: String, at now: Int64) -> Double? {
        let wanted = min(Double(count), burst)
        let left = left(of: sender, at: now)
        guard left >= wanted else { return (wanted - left) / perSecond }
        if allowances[sender] == nil, allowances.count >= nextSweep { sweep(at: now) }
        allowances[sender] = Allowance(left: left - wanted, time: now)
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
