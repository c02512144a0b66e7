import CloudKitDevice
import Foundation
import Synchronization

/// The long life of one operation in this process: what it has answered already, and the right to run it.
final class LongLife: Sendable {
    private struct Progress {
        var asked: [String: Int] = [:]
        var bytes = 0
    }

    private let store: LongLivedStore
    private let operation: LongLivedOperation
    private let claim: FileClaim
    private let progress = Mutex(Progress())

    /// - Throws: When the operation cannot be written, or another process runs it.
    init(starting operation: LongLivedOperation, in store: LongLivedStore) throws {
        guard let claim = store.claim(operation.id) else { throw CocoaError(.fileWriteUnknown) }
        try store.save(operation)
        self.store = store
        self.operation = operation
        self.claim = claim
    }

    /// The life of an operation that was found on disk; nil: another process runs it.
    init?(resuming operation: LongLivedOperation, in store: LongLivedStore) {
        guard let claim = store.claim(operation.id) else { return nil }
        self.store = store
        self.operation = operation
        self.claim = claim
    }

    /// The place of the next answer of an endpoint: running again asks in the same order.
    func ticket(for endpoint: Endpoint) -> AnswerTicket {
        progress.withLock { progress in
            let number = progress.asked[endpoint.path, default: 0]
            progress.asked[endpoint.path] = number + 1
            return AnswerTicket(endpoint: endpoint.path, number: number)
        }
    }

    func answer(_ ticket: AnswerTicket) -> [UInt8]? { store.answer(ticket, operation.id) }

    func keep(_ bytes: [UInt8], _ ticket: AnswerTicket) {
        let fits = progress.withLock { progress in
            progress.bytes += bytes.count
            return progress.bytes <= LongLivedStore.answerBytesMax
        }
        if fits { store.keep(bytes, ticket, of: operation.id) }
    }

    /// All answers are there; what is left is the app's to hear.
    func finish(at now: Date) {
        var finished = operation
        finished.finished = now.timeIntervalSince1970
        // If this cannot be written the operation counts as running, and runs again from its answers.
        try? store.save(finished)
    }

    /// The app has heard it all, or does not want to.
    func end() { store.remove(operation.id) }
}

/// The long-lived operations that this process has in hands, so that each exists once.
enum LongLivedOperations {
    private struct Weak: Sendable { weak var operation: CKOperation? }

    private static let current = Mutex<[String: Weak]>([:])

    static func note(_ operation: CKOperation) {
        current.withLock { current in
            current = current.filter { $0.value.operation != nil }
            current[operation.operationID] = Weak(operation: operation)
        }
    }

    static func forget(_ id: String) { current.withLock { $0[id] = nil } }

    static func find(_ id: String) -> CKOperation? { current.withLock { $0[id]?.operation } }
}
