import Synchronization

/// Remembers when a cloud has answered last: one that did, and then refuses connections, is starting again rather than misspelt.
final class CloudContact: Sendable {
    /// Milliseconds.
    private let answered = Atomic(never)

    private static let never = Int64.min

    /// The time of the last answer to this process, to any request, on the connection's clock; nil: there was none.
    var lastAnswer: Duration? {
        let time = answered.load(ordering: .relaxed)
        return time == Self.never ? nil : .milliseconds(time)
    }

    /// The cloud has answered, whatever it said.
    func noteAnswer(at now: Duration) { answered.store(Int64(now / .milliseconds(1)), ordering: .relaxed) }
}
