import Synchronization

/// Whether the service is about to stop and wants its clients to go elsewhere.
final class Draining: Sendable {
    private let state = Atomic(false)

    /// Whether it is about to stop.
    var hasBegun: Bool { state.load(ordering: .acquiring) }

    func begin() { state.store(true, ordering: .releasing) }
}
