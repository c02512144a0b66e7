/// The recent failures of many accounts, or of many network addresses, with the attempts that are under way.
///
/// An attempt is reserved before it is made and counts like a failure until its outcome is known, so that attempts made at once cannot
/// pass together. Pure: time is passed in.
struct FailureCounts: Sendable {
    /// Failures and attempts under way that one key may have.
    let failuresMax: Int
    /// Keys that are remembered; beyond that, those with the fewest failures are forgotten first, the oldest of them before others.
    let keysMax: Int
    /// Milliseconds after which a failure is forgotten.
    let window: Int64

    /// The times of failures, oldest first.
    private var failures: [String: [Int64]] = [:]
    private var underWay: [String: Int] = [:]
    private var lastSweep: Int64 = 0
    /// The keys that were forgotten since `takeForgotten` was called last.
    private var forgotten: Set<String> = []

    init(failuresMax: Int, keysMax: Int, window: Int64) {
        self.failuresMax = failuresMax
        self.keysMax = keysMax
        self.window = window
    }

    /// The number of keys with failures.
    var keyCount: Int { failures.count }

    /// Returns the times of a key's failures, oldest first.
    func times(of key: String) -> [Int64] { failures[key, default: []] }

    /// Returns the milliseconds to wait before an attempt may be made; nil when it may be made now.
    mutating func wait(for key: String, now: Int64) -> Int64? {
        let recent = recent(key, now: now)
        if recent.count >= failuresMax { return recent[recent.count - failuresMax] + window - now }
        return recent.count + underWay[key, default: 0] >= failuresMax ? Self.underWayWait : nil
    }

    /// Reserves an attempt; `release` follows.
    mutating func reserve(_ key: String) { underWay[key, default: 0] += 1 }

    /// Gives a reserved attempt back.
    mutating func release(_ key: String) {
        guard let count = underWay[key] else { return }
        underWay[key] = count > 1 ? count - 1 : nil
    }

    /// Counts a failure.
    mutating func fail(_ key: String, now: Int64) {
        sweep(now: now)
        failures[key] = (recent(key, now: now) + [now]).suffix(failuresMax)
        forgotten.remove(key)
        if failures.count > keysMax { makeSpace(keeping: key) }
    }

    /// Forgets a key's failures.
    ///
    /// - Returns: Whether there were any.
    mutating func clear(_ key: String) -> Bool { failures.removeValue(forKey: key) != nil }

    /// Takes over stored failures.
    mutating func load(_ key: String, times: [Int64], now: Int64) {
        guard failures[key] == nil else { return }
        let recent = Self.recent(times.sorted(), window: window, now: now).suffix(failuresMax)
        if recent.isEmpty { forgotten.insert(key) } else { failures[key] = Array(recent) }
        if failures.count > keysMax { makeSpace(keeping: key) }
    }

    /// Returns the keys that are no longer remembered and were before, each once.
    mutating func takeForgotten() -> Set<String> {
        defer { forgotten = [] }
        return forgotten
    }

    private mutating func recent(_ key: String, now: Int64) -> [Int64] {
        guard let times = failures[key] else { return [] }
        let recent = Self.recent(times, window: window, now: now)
        if recent != times { failures[key] = recent }
        return recent
    }

    /// A failure that lies in the future, because the clock was set back, counts as one of now: it must not stay permanently.
    private static func recent(_ times: [Int64], window: Int64, now: Int64) -> [Int64] {
        times.filter { $0 > now || now - $0 < window }.map { min($0, now) }
    }

    /// Forgets keys without recent failures, once in a while.
    private mutating func sweep(now: Int64) {
        guard now < lastSweep || now - lastSweep >= window else { return }
        lastSweep = now
        for key in Array(failures.keys) where recent(key, now: now).isEmpty { forget(key) }
    }

    /// Forgets a sixteenth of the keys at once, so that finding them costs little for each failure.
    private mutating func makeSpace(keeping kept: String) {
        let order = failures.filter { $0.key != kept }.sorted { left, right in
            (left.value.count, left.value.last ?? 0, left.key) < (right.value.count, right.value.last ?? 0, right.key)
        }
        for (key, _) in order.prefix(max(1, keysMax / 16)) { forget(key) }
    }

    private mutating func forget(_ key: String) {
        failures[key] = nil
        forgotten.insert(key)
    }

    /// Milliseconds until attempts under way have ended, most likely.
    private static let underWayWait: Int64 = 1000
}
