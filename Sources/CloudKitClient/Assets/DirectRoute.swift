import Synchronization

/// Whether files are fetched from the address elsewhere to which a cloud leads: until that has failed once.
final class DirectRoute: Sendable {
    private let isClosed = Atomic(false)

    var isOpen: Bool { !isClosed.load(ordering: .relaxed) }

    func close() { isClosed.store(true, ordering: .relaxed) }
}
