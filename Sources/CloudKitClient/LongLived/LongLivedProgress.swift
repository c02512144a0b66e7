import CloudKitDevice
import Foundation
import Synchronization

/// The long life of one operation in this process: what it has answered already, and the right to run it.
package final class LongLivedProgress: Sendable {
    private struct Progress {
        var asked: [String: Int] = [:]
        var bytes = 0
    }

    /// The operations of its container.
    package let store: LongLivedStore
    private let id: String
    /// Writes the operation down as one that has all its answers.
    private let saveFinished: @Sendable (Date) throws -> Void
    private let claim: FileClaim
    private let progress = Mutex(Progress())

    /// - Throws: When the operation cannot be written, or another process runs it.
    package init(starting operation: LongLivedOperation<some Codable & Sendable>, in store: LongLivedStore) throws {
        guard let claim = store.claim(operation.id) else { throw CocoaError(.fileWriteUnknown) }
        try store.save(operation)
        self.store = store
        id = operation.id
        saveFinished = { now in
            var finished = operation
            finished.finished = now.timeIntervalSince1970
            try store.save(finished)
        }
        self.claim = claim
    }

    /// The life of an operation that was found on disk; nil: another process runs it.
    package init?(resuming operation: LongLivedOperation<some Codable & Sendable>, in store: LongLivedStore) {
        guard let claim = store.claim(operation.id) else { return nil }
        self.store = store
        id = operation.id
        saveFinished = { now in
            var finished = operation
            finished.finished = now.timeIntervalSince1970
            try store.save(finished)
        }
        self.claim = claim
    }

    /// The place of the next answer of an endpoint: running again asks in the same order.
    func ticket(for endpoint: CloudEndpoint) -> ResponseKey {
        progress.withLock { progress in
            let number = progress.asked[endpoint.path, default: 0]
            progress.asked[endpoint.path] = number + 1
            return ResponseKey(endpoint: endpoint.path, number: number)
        }
    }

    /// Returns whether an earlier process has sent the next request of an endpoint, and has no answer.
    func awaitsAnswer(of endpoint: CloudEndpoint) -> Bool {
        let number = progress.withLock { $0.asked[endpoint.path, default: 0] }
        let next = ResponseKey(endpoint: endpoint.path, number: number)
        return store.answer(next, id) == nil && store.attempt(next, of: id) != nil
    }

    func answer(_ ticket: ResponseKey) -> [UInt8]? { store.answer(ticket, id) }

    func keep(_ bytes: [UInt8], _ ticket: ResponseKey) {
        let fits = progress.withLock { progress in
            progress.bytes += bytes.count
            return progress.bytes <= LongLivedStore.answerBytesMax
        }
        if fits { store.keep(bytes, ticket, of: id) }
    }

    /// The attempts of a request, for the next process.
    func attempts(of ticket: ResponseKey) -> AttemptNotes {
        AttemptNotes(
            last: { [store, id] in store.attempt(ticket, of: id) },
            note: { [store, id] attempt throws(FileFailure) in try store.keep(attempt, ticket, of: id) })
    }

    /// Records that all responses have arrived; only the app's blocks are left to call.
    package func finish(at now: Date) {
        // If this cannot be written the operation counts as running, and runs again from its answers.
        try? saveFinished(now)
    }

    /// Removes the operation when the app has received everything, or no longer needs it.
    package func end() { store.remove(id) }
}
