import CloudKitLogs
import CloudKitServer

/// A request that waits for notifications, without a task: what it goes on with.
struct WaitingRequest: Sendable {
    /// The identifier of the request.
    let id: LogID
    /// When the request arrived.
    let start: ContinuousClock.Instant
    private(set) var poll: LongPoll
    private let courier: LongPollService

    init(id: LogID, start: ContinuousClock.Instant, _ pending: PendingNotifications) {
        self.id = id
        self.start = start
        poll = pending.poll
        courier = pending.courier
    }

    /// Calls a function, on any thread, once the request can go on.
    func wait(then resume: @escaping @Sendable (WaitingRequest) -> Void) {
        courier.wait(poll) { poll in
            var waiting = self
            waiting.poll = poll
            resume(waiting)
        }
    }

    /// Waits, in a task, until the request can go on.
    func ended() async -> WaitingRequest {
        var waiting = self
        waiting.poll = await courier.ended(poll)
        return waiting
    }
}

/// Thrown by the endpoint of notifications while there are none: no answer, and no failure.
struct PendingNotifications: Error {
    let poll: LongPoll
    let courier: LongPollService
}
