import Synchronization

/// The number of bytes of one file that have gone over the wire so far.
final class TransferredByteCount: Sendable {
    private let bytes = Atomic(0)
    private let onAdd: @Sendable (Int) -> Void

    /// - Parameter onAdd: Called with the bytes of each piece.
    init(onAdd: @escaping @Sendable (Int) -> Void = { _ in }) { self.onAdd = onAdd }

    var value: Int { bytes.load(ordering: .relaxed) }

    func add(_ count: Int) {
        bytes.add(count, ordering: .relaxed)
        onAdd(count)
    }
}
