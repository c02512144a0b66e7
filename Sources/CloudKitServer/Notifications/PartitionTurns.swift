import CloudKitRecordLayer
import Synchronization

/// Runs one piece of work at a time in each partition; others of this process wait for their turn.
final class PartitionTurns: Sendable {
    private let waiting = Mutex<[StoragePartition: [CheckedContinuation<Void, Never>]]>([:])

    func take<Value: Sendable>(_ partition: StoragePartition, _ body: () async throws -> Value) async rethrows -> Value
    {
        await enter(partition)
        defer { leave(partition) }
        return try await body()
    }

    private func enter(_ partition: StoragePartition) async {
        await withCheckedContinuation { continuation in
            let isFree = waiting.withLock { waiting in
                guard waiting[partition] != nil else {
                    waiting[partition] = []
                    return true
                }
                waiting[partition]?.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    private func leave(_ partition: StoragePartition) {
        let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            guard var queue = waiting.removeValue(forKey: partition), !queue.isEmpty else { return nil }
            let next = queue.removeFirst()
            waiting[partition] = queue
            return next
        }
        next?.resume()
    }
}
