import Synchronization

/// The number of bytes of one file that have gone over the wire so far.
final class TransferredByteCount: Sendable {
    private let bytes = Atomic(0)

    var value: Int { bytes.load(ordering: .relaxed) }

    func add(_ count: Int) { bytes.add(count, ordering: .relaxed) }
}
