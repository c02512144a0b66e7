import Synchronization

/// The position of the host that took a connection last, among several.
final class PreferredHost: Sendable {
    private let position = Atomic<Int>(0)

    func load() -> Int { position.load(ordering: .relaxed) }
    func store(_ position: Int) { self.position.store(position, ordering: .relaxed) }
}
