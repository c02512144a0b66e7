import OrderedStore
import Synchronization

/// Connections for reading, opened when they are first needed.
final class ReaderPool: Sendable {
    private struct State {
        var idle: [Connection] = []
        var openCount = 0
        var waiting: [(id: Int, continuation: CheckedContinuation<Connection, any Error>)] = []
        var nextID = 0
        var isClosed = false
        /// The task that closes the pool, until the last connection is back.
        var drained: CheckedContinuation<Void, Never>?

        mutating func takeDrained() -> CheckedContinuation<Void, Never>? {
            idle.count == openCount ? drained.take() : nil
        }
    }

    private enum Place {
        case connection(Connection)
        case mayOpen, mustWait
    }

    private let path: String
    private let options: SQLiteStore.Options
    private let partitions: PartitionIDs
    private let state = Mutex(State())

    init(path: String, options: SQLiteStore.Options, partitions: PartitionIDs) {
        self.path = path
        self.options = options
        self.partitions = partitions
    }

    /// A connection for the caller alone, until it is given back. Waits, without holding a thread, while all are taken.
    ///
    /// - Throws: `StoreError`, or `CancellationError` when the task was cancelled while it waited.
    func take() async throws -> Connection {
        switch try place() {
        case .connection(let connection): return connection
        case .mayOpen: return try open()
        case .mustWait: return try await wait()
        }
    }

    func give(_ connection: Connection) {
        let next = state.withLock { state in
            if !state.waiting.isEmpty { return state.waiting.removeFirst().continuation as CheckedContinuation? }
            state.idle.append(connection)
            return nil
        }
        if let next { return next.resume(returning: connection) }
        state.withLock { $0.takeDrained() }?.resume()
    }

    /// Gives back the pages that idle connections hold in memory.
    func releaseMemory(above bytesMax: Int) -> Bool {
        let connections = state.withLock { state in
            defer { state.idle = [] }
            return state.idle
        }
        var hasReleased = false
        for connection in connections {
            if connection.releaseMemory(above: bytesMax) { hasReleased = true }
            give(connection)
        }
        return hasReleased
    }

    /// Waits for reads under way, then closes the file.
    func close() async {
        await withCheckedContinuation { continuation in
            let isDrained = state.withLock { state in
                state.isClosed = true
                if state.idle.count == state.openCount { return true }
                state.drained = continuation
                return false
            }
            if isDrained { continuation.resume() }
        }
        let connections = state.withLock { state in
            state.openCount = 0
            defer { state.idle = [] }
            return state.idle
        }
        for connection in connections { connection.close() }
    }

    private func place() throws(StoreError) -> Place {
        try state.withLock { (state) throws(StoreError) in
            if state.isClosed { throw .closed }
            // The last one given back: its pages are most likely still good.
            if let connection = state.idle.popLast() { return .connection(connection) }
            if state.openCount >= max(1, options.readersMax) { return .mustWait }
            state.openCount += 1
            return .mayOpen
        }
    }

    private func open() throws(StoreError) -> Connection {
        do throws(StoreError) {
            return Connection(try Handle(path: path, options: options, role: .reader, partitions: partitions))
        } catch {
            let drained = state.withLock { state in
                state.openCount -= 1
                return state.takeDrained()
            }
            drained?.resume()
            throw error
        }
    }

    private func wait() async throws -> Connection {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                wait(as: id, continuation)
            }
        } onCancel: {
            let cancelled = state.withLock { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0).continuation }
            }
            cancelled?.resume(throwing: CancellationError())
        }
    }

    private func wait(as id: Int, _ continuation: CheckedContinuation<Connection, any Error>) {
        let answer: Result<Connection, any Error>? = state.withLock { state in
            // A connection may have come back since, and this task would not be resumed for it.
            if let connection = state.idle.popLast() { return .success(connection) }
            if Task.isCancelled { return .failure(CancellationError()) }
            state.waiting.append((id, continuation))
            return nil
        }
        if let answer { continuation.resume(with: answer) }
    }
}
