import OrderedStore
import Synchronization

/// Connections that are opened when they are first needed, up to a number; who finds all of them taken waits, holding no thread.
final class ConnectionPool: Sendable {
    private struct State {
        var idle: [PostgresConnection] = []
        var openCount = 0
        var waiting: [(id: Int, continuation: CheckedContinuation<Place, any Error>)] = []
        var nextID = 0
        var isClosed = false
        /// How often earlier connections were given up.
        var renewalCount = 0
        var drained: CheckedContinuation<Void, Never>?

        mutating func takeDrained() -> CheckedContinuation<Void, Never>? {
            idle.count == openCount ? drained.take() : nil
        }
    }

    private enum Place: Sendable {
        case connection(PostgresConnection)
        /// The place of a connection that is gone, or was never opened.
        case mayOpen
    }

    private let configuration: PostgresConfiguration
    private let options: PostgresStore.Options
    private let connectionsMax: Int
    private let state = Mutex(State())

    init(_ configuration: PostgresConfiguration, _ options: PostgresStore.Options, connectionsMax: Int) {
        self.configuration = configuration
        self.options = options
        self.connectionsMax = max(1, connectionsMax)
    }

    /// Returns a connection for the caller alone, until it is given back.
    ///
    /// - Throws: `PostgresFailure`, `StoreError.Code.closed`, or `CancellationError` when the task was cancelled while it waited.
    func take() async throws -> PostgresConnection {
        switch try await place() {
        case .connection(let connection): return connection
        case .mayOpen:
            let renewal = state.withLock { $0.renewalCount }
            do throws(PostgresFailure) {
                return try await PostgresConnection.open(configuration, options, renewal: renewal)
            } catch {
                pass(.mayOpen)
                throw error
            }
        }
    }

    /// Takes a connection back; one that is lost is replaced when it is next needed.
    func give(_ connection: PostgresConnection) {
        if state.withLock({ connection.renewal < $0.renewalCount }) {
            connection.close()
            pass(.mayOpen)
        } else if connection.isOpen {
            pass(.connection(connection))
        } else {
            // The others of this time are most likely lost as well.
            dropIdle()
            pass(.mayOpen)
        }
    }

    /// Waits until all connections are back, then closes them.
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
        dropIdle()
    }

    /// Gives up all connections: those in use when they are given back.
    func renew() {
        state.withLock { $0.renewalCount += 1 }
        dropIdle()
    }

    private func dropIdle() {
        let dropped = state.withLock { state in
            state.openCount -= state.idle.count
            defer { state.idle = [] }
            return state.idle
        }
        for connection in dropped { connection.close() }
    }

    private func pass(_ place: Place) {
        let next: CheckedContinuation<Place, any Error>? = state.withLock { state in
            if !state.waiting.isEmpty { return state.waiting.removeFirst().continuation }
            switch place {
            case .connection(let connection): state.idle.append(connection)
            case .mayOpen: state.openCount -= 1
            }
            return nil
        }
        if let next { return next.resume(returning: place) }
        state.withLock { $0.takeDrained() }?.resume()
    }

    private func place() async throws -> Place {
        let place: Place? = try state.withLock { (state) throws(StoreError) in
            if state.isClosed { throw .closed }
            // The last one given back: its thread and its plans are most likely still in a cache.
            if let connection = state.idle.popLast() { return .connection(connection) }
            if state.openCount >= connectionsMax { return nil }
            state.openCount += 1
            return .mayOpen
        }
        if let place { return place }
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

    private func wait(as id: Int, _ continuation: CheckedContinuation<Place, any Error>) {
        let answer: Result<Place, any Error>? = state.withLock { state in
            // A connection may have come back since, and this task would not be resumed for it.
            if let connection = state.idle.popLast() { return .success(.connection(connection)) }
            if state.openCount < connectionsMax {
                state.openCount += 1
                return .success(.mayOpen)
            }
            if Task.isCancelled { return .failure(CancellationError()) }
            state.waiting.append((id, continuation))
            return nil
        }
        if let answer { continuation.resume(with: answer) }
    }
}
