/// Decides the next automatic work of an engine, and its time: one thing at a time, fetches before sends (B-SYN-11).
///
/// A value that receives the time and draws no random numbers, so that a test can simulate any day.
struct SyncSchedule: Hashable, Sendable {
    enum Work: Hashable, Sendable { case fetch, send }

    enum Step: Hashable, Sendable {
        case idle
        case wait(Duration)
        case work(Work)
    }

    /// The time for which additions are collected before they are sent.
    static let sendDelay = Duration.milliseconds(20)
    /// The interval of polls without a notification of a change; notifications are best effort (B-PSH-02).
    static let pollInterval = Duration.seconds(60)
    /// The same for an engine that has a subscription.
    static let pollIntervalListening = Duration.seconds(900)
    static let firstDelay = Duration.seconds(1)
    static let delayMax = Duration.seconds(600)

    /// A Boolean value that indicates whether the engine has a subscription that notifies it of changes.
    var receivesNotifications = false
    private(set) var fetchDue: Duration?
    private(set) var sendDue: Duration?
    /// Nothing happens before: the server or the network needs a pause.
    private(set) var quietUntil = Duration.zero
    /// In a row.
    private(set) var failures = 0
    /// The last fetch failed: its cause must not keep changes from being sent.
    private var sendsFirst = false

    mutating func wantFetch(at now: Duration) { fetchDue = min(fetchDue ?? now, now) }

    mutating func wantSend(at now: Duration) {
        let due = now + Self.sendDelay
        sendDue = min(sendDue ?? due, due)
    }

    /// The network or the account is back: no reason to wait any longer.
    mutating func endQuiet(at now: Duration) {
        quietUntil = min(quietUntil, now)
        failures = 0
    }

    mutating func clear() {
        fetchDue = nil
        sendDue = nil
    }

    func next(at now: Duration) -> Step {
        let due = [fetchDue, sendDue].compactMap { $0.map { max($0, quietUntil) } }
        guard let first = due.min() else { return .idle }
        guard first <= now else { return .wait(first - now) }
        func isDue(_ time: Duration?) -> Bool { time.map { max($0, quietUntil) <= now } ?? false }
        guard isDue(fetchDue) else { return .work(.send) }
        return .work(sendsFirst && isDue(sendDue) ? .send : .fetch)
    }

    mutating func began(_ work: Work) {
        switch work {
        case .fetch: fetchDue = nil
        case .send: sendDue = nil
        }
    }

    /// - Parameters:
    ///   - hasWork: Whether something waits to be sent.
    ///   - random: From 0 to 1.
    mutating func ended(_ work: Work, _ outcome: SyncOutcome, hasWork: Bool, at now: Duration, random: Double) {
        sendsFirst = work == .fetch && outcome != .done
        switch outcome {
        case .done:
            failures = 0
            if work == .fetch {
                let next = now + (receivesNotifications ? Self.pollIntervalListening : Self.pollInterval)
                fetchDue = min(fetchDue ?? next, next)
            }
        case .failed(let requestedDelay):
            failures += 1
            quietUntil = max(quietUntil, now + max(requestedDelay ?? .zero, backoff(random)))
            if work == .fetch { wantFetch(at: now) }
        case .conflicted, .refused:
            // At once the first time; an app that corrects nothing must not keep the network busy.
            if failures > 0 { quietUntil = max(quietUntil, now + backoff(random)) }
            failures += 1
            if outcome == .conflicted || work == .fetch { wantFetch(at: now) }
        }
        if hasWork { wantSend(at: now) }
    }

    /// Returns a pause that doubles each time, up to ten minutes, half of it random so that devices do not return
    /// together.
    private func backoff(_ random: Double) -> Duration {
        let delay = min(Self.firstDelay * (1 << min(max(failures, 1) - 1, 16)), Self.delayMax)
        return delay * (0.5 + random / 2)
    }
}
