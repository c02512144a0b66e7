import Synchronization

/// Reports to listeners which partitions changed. For engines: `publish` after each commit.
///
/// A hint that a listener has not yet taken is kept once for each partition, so that a slow listener costs little.
package final class CommitHints: Sendable {
    private struct Reference: Sendable {
        weak var listener: Listener?
    }

    private let references = Mutex<[Reference]>([])
    private let reported = Atomic(0)

    /// Creates hints without listeners.
    package init() {}

    /// Returns a stream of its own for each caller, with the hints that are reported from now on.
    package func stream() -> AsyncStream<Partition> {
        let listener = Listener()
        references.withLock { references in
            // A stream that is no longer held has released its listener.
            references.removeAll { $0.listener == nil }
            references.append(Reference(listener: listener))
        }
        return AsyncStream {
            await listener.next()
        } onCancel: {
            listener.finish()
        }
    }

    /// The changes of partitions that were reported so far.
    package var count: Int { reported.load(ordering: .relaxed) }

    /// Reports that these partitions changed.
    package func publish(_ partitions: some Collection<Partition>) {
        if partitions.isEmpty { return }
        reported.wrappingAdd(partitions.count, ordering: .relaxed)
        for reference in references.withLock({ $0 }) { reference.listener?.publish(partitions) }
    }

    /// Ends every stream once it has given the hints that were reported before.
    package func finish() {
        for reference in references.withLock({ $0 }) { reference.listener?.finish() }
    }
}

extension CommitHints {
    private final class Listener: Sendable {
        private struct State {
            var order: [Partition] = []
            var known: Set<Partition> = []
            var waiting: CheckedContinuation<Partition?, Never>?
            var isFinished = false

            mutating func takeFirst() -> Partition? {
                if order.isEmpty { return nil }
                let partition = order.removeFirst()
                known.remove(partition)
                return partition
            }
        }

        private let state = Mutex(State())

        func publish(_ partitions: some Collection<Partition>) {
            let (waiting, partition) = state.withLock { state in
                if state.isFinished { return (nil as CheckedContinuation<Partition?, Never>?, nil as Partition?) }
                for partition in partitions where state.known.insert(partition).inserted {
                    state.order.append(partition)
                }
                guard let waiting = state.waiting.take() else { return (nil, nil) }
                return (waiting, state.takeFirst())
            }
            waiting?.resume(returning: partition)
        }

        func finish() {
            let waiting = state.withLock { state in
                state.isFinished = true
                return state.waiting.take()
            }
            waiting?.resume(returning: nil)
        }

        func next() async -> Partition? {
            await withCheckedContinuation { continuation in
                let (isReady, partition) = state.withLock { state in
                    if let partition = state.takeFirst() { return (true, partition as Partition?) }
                    if state.isFinished || state.waiting != nil { return (true, nil) }
                    state.waiting = continuation
                    return (false, nil)
                }
                if isReady { continuation.resume(returning: partition) }
            }
        }
    }
}
