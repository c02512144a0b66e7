import Synchronization

/// Remembers whether a cloud has answered: one that did, and then refuses connections, is starting again rather than misspelt.
final class CloudContact: Sendable {
    private let answered = Atomic(false)

    /// Whether it has answered this process.
    var hasAnswered: Bool { answered.load(ordering: .relaxed) }

    /// The cloud has answered, whatever it said.
    func noteAnswer() {
        if !hasAnswered { answered.store(true, ordering: .relaxed) }
    }
}
