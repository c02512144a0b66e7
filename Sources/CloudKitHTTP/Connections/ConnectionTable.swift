/// The connections of a cloud: which newcomers are accepted, which connections yield to them, and which have taken too long.
///
/// A connection counts from its acceptance until its descriptor is free again, also while it is being closed.
struct ConnectionTable<ID: Hashable> {
    typealias Instant = ContinuousClock.Instant

    /// The outcome for a newcomer.
    enum Admission: Hashable {
        case accepted
        /// Accepted, once another connection is closed.
        case acceptedInPlace(of: ID)
        case refused(Refusal)
    }

    /// The reason for which a newcomer is refused, or a connection is closed for one.
    enum Refusal: String, Hashable, CaseIterable, Sendable {
        /// As many connections as possible have requests under way.
        case full
        /// The address has as many connections as it may have.
        case address
        /// The connection waited for a request, and another one took its place.
        case yielded
    }

    /// A connection that has taken too long.
    enum Overdue: Hashable {
        /// No request has begun in time, no further one for long, the rest of a body was discarded for long enough, or an answer is
        /// read too slowly: close the connection.
        case close(ID)
        /// A body arrives too slowly: end its reading.
        case slowBody(ID)
        /// No further request has begun for some time: end the task that waits for it.
        case rest(ID)

        var id: ID {
            switch self {
            case .close(let id), .slowBody(let id), .rest(let id): id
            }
        }
    }

    private enum Phase: Hashable {
        /// Waits for its first request.
        case new
        /// Waits for a further request.
        case idle
        case answering
        /// Sends the rest of a body after the answer.
        case discarding
        case closing

        var canYield: Bool { self == .new || self == .idle || self == .discarding }
    }

    /// A class: each change of an entry in the dictionary itself would allocate memory four times, and a request has a dozen changes.
    private final class Entry {
        let address: RemoteAddress?
        var phase: Phase
        var since: Instant
        /// Differs for each phase of each connection.
        var stamp: UInt64 = 0
        /// Whether the task of an idle connection was ended.
        var isAtRest = false
        var body: Progress?
        var answer: Progress?

        init(address: RemoteAddress?, phase: Phase, since: Instant) {
            self.address = address
            self.phase = phase
            self.since = since
        }
    }

    /// The progress of a body or an answer in the current interval.
    private struct Progress {
        var bytes = 0
        /// Bytes that the connection has to send or take in each interval.
        var bytesMin: Int
        var since: Instant

        var isTooSlow: Bool { bytes < bytesMin }

        /// Returns the progress at the beginning of the next interval.
        func next(at now: Instant) -> Progress { Progress(bytesMin: bytesMin, since: now) }
    }

    private struct Waiting {
        var id: ID
        var stamp: UInt64
    }

    private let limits: ConnectionLimits
    private let rate: MinimumTransferRate
    /// Whether each connection brings requests of many clients.
    private let isBehindProxy: Bool
    private var entries: [ID: Entry] = [:]
    private var perAddress: [RemoteAddress: Int] = [:]
    private var closing = 0
    private var stamp: UInt64 = 0
    /// Those that can yield, the longest waiting first, among others that have moved on since.
    private var waiting: [Waiting] = []
    private var firstWaiting = 0

    /// Connections that may be on their way out beyond the limit before no further one is accepted.
    private static var closingMax: Int { 16 }

    init(limits: ConnectionLimits, rate: MinimumTransferRate, isBehindProxy: Bool) {
        self.limits = limits
        self.rate = rate
        self.isBehindProxy = isBehindProxy
    }

    /// The connections whose descriptors are in use.
    var count: Int { entries.count }

    /// The entries of the list of those that can yield, outdated ones among them.
    var waitingCount: Int { waiting.count - firstWaiting }

    /// Whether a further connection may be accepted or refused now.
    var canAccept: Bool { entries.count < limits.connectionsMax + Self.closingMax }

    // MARK: Beginning and end

    /// Decides on a newcomer.
    mutating func admit(_ id: ID, from address: RemoteAddress?, at now: Instant) -> Admission {
        let limited = isBehindProxy || address?.isLoopback == true ? nil : address
        if let limited, perAddress[limited, default: 0] >= limits.connectionsPerAddressMax {
            return refuse(id, .address, at: now)
        }
        var yielding: ID?
        if entries.count - closing >= limits.connectionsMax {
            guard let longest = nextToYield() else { return refuse(id, .full, at: now) }
            close(longest)
            yielding = longest
        }
        entries[id] = Entry(address: limited, phase: .new, since: now)
        if let limited { perAddress[limited, default: 0] += 1 }
        enter(id, .new, at: now)
        return yielding.map { .acceptedInPlace(of: $0) } ?? .accepted
    }

    /// Forgets a connection whose descriptor is free again.
    mutating func closed(_ id: ID) {
        close(id)
        guard entries.removeValue(forKey: id) != nil else { return }
        closing -= 1
    }

    private mutating func refuse(_ id: ID, _ refusal: Refusal, at now: Instant) -> Admission {
        entries[id] = Entry(address: nil, phase: .closing, since: now)
        closing += 1
        return .refused(refusal)
    }

    private mutating func close(_ id: ID) {
        guard let entry = entries[id], entry.phase != .closing else { return }
        entry.phase = .closing
        closing += 1
        guard let address = entry.address, let count = perAddress[address] else { return }
        perAddress[address] = count > 1 ? count - 1 : nil
    }

    // MARK: Requests

    /// Notes that a request has begun.
    mutating func requestBegan(_ id: ID, at now: Instant) { enter(id, .answering, at: now) }

    /// Notes that a request has been answered.
    ///
    /// - Parameter leavesBody: Whether the client may still be sending its body.
    mutating func requestEnded(_ id: ID, leavesBody: Bool, at now: Instant) {
        enter(id, leavesBody ? .discarding : .idle, at: now)
    }

    private mutating func enter(_ id: ID, _ phase: Phase, at now: Instant) {
        guard let entry = entries[id], entry.phase != .closing else { return }
        stamp += 1
        entry.phase = phase
        entry.since = now
        entry.stamp = stamp
        entry.isAtRest = false
        entry.body = nil
        entry.answer = nil
        guard phase.canYield else { return }
        if waiting.count > 64 + 2 * entries.count { dropOutdated() }
        waiting.append(Waiting(id: id, stamp: stamp))
    }

    private mutating func dropOutdated() {
        waiting = waiting[firstWaiting...].filter { entries[$0.id]?.stamp == $0.stamp }
        firstWaiting = 0
    }

    private mutating func nextToYield() -> ID? {
        while firstWaiting < waiting.count {
            let candidate = waiting[firstWaiting]
            firstWaiting += 1
            if let entry = entries[candidate.id], entry.stamp == candidate.stamp, entry.phase.canYield {
                return candidate.id
            }
        }
        waiting.removeAll(keepingCapacity: true)
        firstWaiting = 0
        return nil
    }

    // MARK: Bodies

    /// Notes that the reading of a request's body begins.
    mutating func bodyBegan(_ id: ID, at now: Instant) {
        entries[id]?.body = Progress(bytesMin: rate.bytesMin, since: now)
    }

    /// Notes that a part of the body has arrived.
    mutating func bodyReceived(_ id: ID, bytes: Int) { entries[id]?.body?.bytes += bytes }

    /// Notes that the reading of the body has ended.
    mutating func bodyEnded(_ id: ID) { entries[id]?.body = nil }

    // MARK: Answers in pieces

    /// Notes that an answer is ready, which is sent in pieces until the request ends.
    ///
    /// - Parameter bytesMin: Bytes of it that the connection has to take in each interval of the minimum rate.
    mutating func answerBegan(_ id: ID, bytesMin: Int, at now: Instant) {
        entries[id]?.answer = Progress(bytesMin: bytesMin, since: now)
    }

    /// Notes that the connection has taken a piece of the answer.
    mutating func answerSent(_ id: ID, bytes: Int) { entries[id]?.answer?.bytes += bytes }

    // MARK: Time

    /// Returns the connections that have taken too long; those to be closed count as such from now on.
    mutating func overdue(at now: Instant) -> [Overdue] {
        var overdue: [Overdue] = []
        for (id, entry) in entries {
            switch entry.phase {
            case .new where now - entry.since >= limits.firstRequestMax: overdue.append(.close(id))
            case .idle where now - entry.since >= limits.idleMax: overdue.append(.close(id))
            case .idle where now - entry.since >= limits.taskMax && !entry.isAtRest:
                entry.isAtRest = true
                overdue.append(.rest(id))
            case .discarding where now - entry.since >= limits.discardMax: overdue.append(.close(id))
            case .answering:
                if let answer = entry.answer, now - answer.since >= rate.interval {
                    if answer.isTooSlow { overdue.append(.close(id)) }
                    entry.answer = answer.next(at: now)
                }
                guard let body = entry.body, now - body.since >= rate.interval else { continue }
                if body.isTooSlow { overdue.append(.slowBody(id)) }
                entry.body = body.isTooSlow ? nil : body.next(at: now)
            default: continue
            }
        }
        for case .close(let id) in overdue { close(id) }
        return overdue
    }
}
