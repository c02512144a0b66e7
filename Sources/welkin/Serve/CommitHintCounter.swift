import CloudKitRecordLayer
import Synchronization

/// Counts the hints at commits, of this process and of other ones, so that a worker looks at the store when something has changed.
final class CommitHintCounter: Sendable {
    private let hints: AsyncStream<StoragePartition>
    private let counted = Atomic(0)

    /// Counts from now on, as soon as `run` does.
    init(_ store: Storage) { hints = store.commits() }

    /// The hints so far.
    var count: Int { counted.load(ordering: .relaxed) }

    /// Counts until the task is cancelled.
    func run() async {
        for await _ in hints { counted.wrappingAdd(1, ordering: .relaxed) }
    }
}
