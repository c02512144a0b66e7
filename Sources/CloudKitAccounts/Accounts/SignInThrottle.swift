/// A limit on failed sign-ins: counts them by account, by network address and by both together.
///
/// The pair is strict, so that one guesser is stopped early; an account alone is lenient, so that others cannot
/// easily lock its owner out.
package struct SignInThrottle: Sendable {
    /// Milliseconds after which a failure is forgotten.
    static let window: Int64 = 15 * 60_000
    static let pairFailuresMax = 5
    static let addressFailuresMax = 50
    static let accountFailuresMax = 100
    /// The number of remembered keys beyond which the oldest failures are forgotten.
    static let keysMax = 100_000

    private enum Key: Hashable {
        case pair(email: String, address: String)
        case address(String)
        case account(String)

        var failuresMax: Int {
            switch self {
            case .pair: SignInThrottle.pairFailuresMax
            case .address: SignInThrottle.addressFailuresMax
            case .account: SignInThrottle.accountFailuresMax
            }
        }
    }

    /// The times of failures, oldest first.
    private var failures: [Key: [Int64]] = [:]

    /// Creates a throttle that has counted no failures.
    package init() {}

    /// Returns the seconds to wait before another attempt; nil when it may be made now.
    package func wait(email: String, address: String, now: Int64) -> Double? {
        let waits = Self.keys(email, address).compactMap { key -> Int64? in
            let recent = failures[key, default: []].filter { now - $0 < Self.window }
            guard recent.count >= key.failuresMax else { return nil }
            return recent[recent.count - key.failuresMax] + Self.window - now
        }
        return waits.max().map { Double($0) / 1000 }
    }

    /// Counts a failure.
    package mutating func failed(email: String, address: String, now: Int64) {
        if failures.count >= Self.keysMax {
            failures = failures.filter { now - ($0.value.last ?? 0) < Self.window }
            if failures.count >= Self.keysMax { failures.removeAll() }
        }
        for key in Self.keys(email, address) {
            var times = failures[key, default: []].filter { now - $0 < Self.window }
            times.append(now)
            failures[key] = times.suffix(key.failuresMax)
        }
    }

    /// Forgets the failures of one address at one account: its owner has signed in.
    package mutating func succeeded(email: String, address: String) {
        failures[.pair(email: email, address: address)] = nil
    }

    private static func keys(_ email: String, _ address: String) -> [Key] {
        [.pair(email: email, address: address), .address(address), .account(email)]
    }
}
