/// A limit on failed sign-ins: counts them by account, by network address and by both together.
///
/// The pair is strict, so that one guesser is stopped early; an account alone is lenient, so that others cannot
/// easily lock its owner out. Each attempt begins with `begin` and ends with `failed`, `succeeded` or `abandoned`.
package struct SignInThrottle: Sendable {
    /// Milliseconds after which a failure is forgotten.
    static let window: Int64 = 15 * 60_000
    static let pairFailuresMax = 5
    static let addressFailuresMax = 50
    static let accountFailuresMax = 100
    /// The number of keys of each kind beyond which those with the fewest failures are forgotten.
    static let keysMax = 20_000

    /// A kind of key; the raw values are stored.
    enum Kind: String, CaseIterable {
        case pair, address, account
    }

    /// A counter.
    struct Key: Hashable {
        var kind: Kind
        var id: String
    }

    private var pairs: FailureCounts
    private var addresses: FailureCounts
    private var accounts: FailureCounts

    /// Creates a throttle that has counted no failures.
    package init() { self.init(keysMax: Self.keysMax) }

    init(keysMax: Int) {
        pairs = FailureCounts(failuresMax: Self.pairFailuresMax, keysMax: keysMax, window: Self.window)
        addresses = FailureCounts(failuresMax: Self.addressFailuresMax, keysMax: keysMax, window: Self.window)
        accounts = FailureCounts(failuresMax: Self.accountFailuresMax, keysMax: keysMax, window: Self.window)
    }

    /// Returns the seconds to wait before another attempt; nil when it may be made now.
    package mutating func wait(email: String, address: String, now: Int64) -> Double? {
        let waits = Self.keys(email, address).compactMap { self[$0.kind].wait(for: $0.id, now: now) }
        return waits.max().map { Double($0) / 1000 }
    }

    /// Reserves an attempt, or returns the seconds to wait for one.
    package mutating func begin(email: String, address: String, now: Int64) -> Double? {
        if let wait = wait(email: email, address: address, now: now) { return wait }
        for key in Self.keys(email, address) { self[key.kind].reserve(key.id) }
        return nil
    }

    /// Counts a reserved attempt as a failure.
    package mutating func failed(email: String, address: String, now: Int64) {
        for key in Self.keys(email, address) {
            self[key.kind].release(key.id)
            self[key.kind].fail(key.id, now: now)
        }
    }

    /// Gives a reserved attempt back, and forgets the failures of its address at its account: its owner has signed in.
    ///
    /// - Returns: Whether there were failures to forget.
    @discardableResult
    package mutating func succeeded(email: String, address: String) -> Bool {
        abandoned(email: email, address: address)
        return pairs.clear(Self.pair(email, address))
    }

    /// Gives a reserved attempt back that ended without a verdict.
    package mutating func abandoned(email: String, address: String) {
        for key in Self.keys(email, address) { self[key.kind].release(key.id) }
    }

    /// Takes over stored failures.
    mutating func load(_ key: Key, times: [Int64], now: Int64) { self[key.kind].load(key.id, times: times, now: now) }

    /// Returns the times of a counter's failures, oldest first.
    func times(of key: Key) -> [Int64] {
        switch key.kind {
        case .pair: pairs.times(of: key.id)
        case .address: addresses.times(of: key.id)
        case .account: accounts.times(of: key.id)
        }
    }

    /// Returns the counters that are no longer remembered and were before, each once.
    mutating func takeForgotten() -> [Key] {
        Kind.allCases.flatMap { kind in self[kind].takeForgotten().map { Key(kind: kind, id: $0) } }
    }

    /// The counters of an attempt.
    static func keys(_ email: String, _ address: String) -> [Key] {
        [
            Key(kind: .pair, id: pair(email, address)), Key(kind: .address, id: address),
            Key(kind: .account, id: email),
        ]
    }

    private static func pair(_ email: String, _ address: String) -> String { "\(email)+\(address)" }

    private subscript(kind: Kind) -> FailureCounts {
        get {
            switch kind {
            case .pair: pairs
            case .address: addresses
            case .account: accounts
            }
        }
        _modify {
            switch kind {
            case .pair: yield &pairs
            case .address: yield &addresses
            case .account: yield &accounts
            }
        }
    }
}
