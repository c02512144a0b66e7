import NIOCore
import Synchronization

/// Applies the rules of `ConnectionTable` to the channels of a server.
final class ChannelLimiter: Sendable {
    typealias Refusal = ConnectionTable<ObjectIdentifier>.Refusal

    private let state: Mutex<State>
    private let now: @Sendable () -> ContinuousClock.Instant
    private let onRefused: @Sendable (Refusal) -> Void

    private struct State {
        var table: ConnectionTable<ObjectIdentifier>
        var channels: [ObjectIdentifier: any Channel] = [:]
        /// Continues to accept connections; nil while they are accepted.
        var resume: (@Sendable () -> Void)?
    }

    /// - Parameters:
    ///   - rate: The slowest rate at which a body may arrive.
    ///   - isBehindProxy: Whether each connection brings requests of many clients, so that addresses are not counted.
    ///   - onRefused: Called for each connection that was closed so that others can be kept or accepted.
    init(
        limits: ConnectionLimits, rate: MinimumTransferRate, isBehindProxy: Bool,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        onRefused: @escaping @Sendable (Refusal) -> Void
    ) {
        state = Mutex(State(table: ConnectionTable(limits: limits, rate: rate, isBehindProxy: isBehindProxy)))
        self.now = now
        self.onRefused = onRefused
    }

    /// Whether there is no connection.
    var isEmpty: Bool { state.withLock { $0.channels.isEmpty } }

    /// Decides on an accepted connection, and closes it or another one if there are too many.
    ///
    /// - Returns: Whether the connection may be used.
    func admit(_ channel: any Channel) -> Bool {
        let id = ObjectIdentifier(channel)
        let address = channel.remoteAddress.flatMap { RemoteAddress($0) }
        let now = now()
        let (admission, yielding) = state.withLock { state in
            let admission = state.table.admit(id, from: address, at: now)
            state.channels[id] = channel
            guard case .acceptedInPlace(let other) = admission else { return (admission, nil as (any Channel)?) }
            return (admission, state.channels[other])
        }
        channel.closeFuture.whenComplete { [weak self] _ in self?.closed(id) }
        if let yielding {
            onRefused(.yielded)
            yielding.close(promise: nil)
        }
        guard case .refused(let refusal) = admission else { return true }
        onRefused(refusal)
        channel.close(promise: nil)
        return false
    }

    /// Returns whether a connection can be accepted now; if not, `resume` is called once one can.
    func canAccept(orResume resume: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard !state.table.canAccept else { return true }
            state.resume = resume
            return false
        }
    }

    /// Closes connections that have taken too long, ends the reading of slow bodies, and lets idle connections rest.
    func closeOverdue() {
        let now = now()
        let overdue = state.withLock { state in
            state.table.overdue(at: now).compactMap { overdue in state.channels[overdue.id].map { ($0, overdue) } }
        }
        for (channel, overdue) in overdue {
            switch overdue {
            case .close: channel.close(promise: nil)
            // The reader of the body gets this error; the answer can still be sent.
            case .slowBody: channel.pipeline.fireErrorCaught(SlowBodyError())
            case .rest: channel.pipeline.fireUserInboundEventTriggered(ConnectionRest())
            }
        }
    }

    /// Returns the connection of a channel, for its requests.
    func connection(of channel: any Channel) -> TrackedConnection {
        TrackedConnection(limiter: self, id: ObjectIdentifier(channel))
    }

    fileprivate func note(
        _ change: (inout ConnectionTable<ObjectIdentifier>, ContinuousClock.Instant) -> Void
    ) {
        let now = now()
        state.withLock { change(&$0.table, now) }
    }

    private func closed(_ id: ObjectIdentifier) {
        let resume = state.withLock { state -> (@Sendable () -> Void)? in
            state.table.closed(id)
            state.channels[id] = nil
            guard state.table.canAccept else { return nil }
            defer { state.resume = nil }
            return state.resume
        }
        resume?()
    }
}

/// The connection of a request, as far as its limits are concerned.
struct TrackedConnection: Sendable {
    fileprivate let limiter: ChannelLimiter
    fileprivate let id: ObjectIdentifier

    /// Notes that a request has begun: the connection does not yield to others until it has ended.
    func requestBegan() { limiter.note { $0.requestBegan(id, at: $1) } }

    /// Notes that a request has been answered.
    ///
    /// - Parameter leavesBody: Whether the client may still be sending its body.
    func requestEnded(leavesBody: Bool) { limiter.note { $0.requestEnded(id, leavesBody: leavesBody, at: $1) } }

    /// Notes that the reading of a body begins: from now on it has to arrive at the minimum rate.
    func bodyBegan() { limiter.note { $0.bodyBegan(id, at: $1) } }

    /// Notes that a part of the body has arrived.
    func bodyReceived(_ bytes: Int) { limiter.note { table, _ in table.bodyReceived(id, bytes: bytes) } }

    /// Notes that an answer is ready: from now on the connection has to take its pieces at the minimum rate.
    ///
    /// - Parameter bytesMin: Bytes of it in each interval of that rate.
    func answerBegan(bytesMin: Int) { limiter.note { $0.answerBegan(id, bytesMin: bytesMin, at: $1) } }

    /// Notes that the connection has taken a piece of the answer.
    func answerSent(_ bytes: Int) { limiter.note { table, _ in table.answerSent(id, bytes: bytes) } }

    /// Notes that the reading of the body has ended.
    func bodyEnded() { limiter.note { table, _ in table.bodyEnded(id) } }
}

/// The error of a body that arrives more slowly than the minimum rate.
struct SlowBodyError: Error {}

/// The event of a connection that has waited for a further request for some time.
struct ConnectionRest: Sendable {}
