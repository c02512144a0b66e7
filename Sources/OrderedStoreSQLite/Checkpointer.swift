import OrderedStore
import Synchronization

/// Moves the content of the write-ahead log into the file, concurrently with the writer as far as possible.
///
/// The bulk is moved by a connection and a thread of its own while commits go on. What was committed meanwhile is
/// little; the writer moves that itself, so that the log can start over and does not grow without end.
final class Checkpointer: Sendable {
    private enum Phase {
        case idle
        case moving(Task<Void, Never>)
        /// The writer is to move the rest.
        case moved
    }

    private struct State {
        var phase = Phase.idle
        /// Log pages at which the next checkpoint begins.
        var startPages: Int
        var connection: Connection?
        /// Reads while a checkpoint runs.
        var reader: Connection?
    }

    private let path: String
    private let options: SQLiteStore.Options
    private let partitions: PartitionIDs
    private let thread: BlockingThread
    private let state: Mutex<State>

    init(path: String, options: SQLiteStore.Options, partitions: PartitionIDs) throws(StoreError) {
        self.path = path
        self.options = options
        self.partitions = partitions
        state = Mutex(State(startPages: options.checkpointPages))
        thread = try BlockingThread.start()
    }

    deinit { thread.stop() }

    /// Called by the writer after each commit, when its callers have been answered.
    ///
    /// Nothing is lost when a checkpoint fails: the log keeps its content, and a later one tries again.
    func noteCommit(on writer: Connection) {
        guard let pages = try? writer.use({ handle in handle.logPageCount }) else { return }
        let isWritersTurn = state.withLock { state in
            if case .moved = state.phase {
                state.phase = .idle
                return true
            }
            begin(&state, pages: pages)
            return false
        }
        if isWritersTurn { try? checkpoint(on: writer) }
    }

    /// Waits for a checkpoint under way, then closes the file.
    func close() async {
        let phase = state.withLock { $0.phase }
        if case .moving(let task) = phase { await task.value }
        let (connection, reader) = state.withLock { ($0.connection.take(), $0.reader.take()) }
        connection?.close()
        reader?.close()
    }

    private func begin(_ state: inout State, pages: Int) {
        if pages < options.checkpointPages { state.startPages = options.checkpointPages }
        guard case .idle = state.phase, pages >= state.startPages else { return }
        // A long read may keep the log from starting over; then wait until there is as much to move again.
        state.startPages = pages + options.checkpointPages
        state.phase = .moving(Task(executorPreference: thread) { self.move() })
    }

    private func move() {
        try? checkpoint(on: openConnection(\.connection))
        state.withLock { $0.phase = .moved }
    }

    /// Moves the content of the log while a reader keeps the log from starting over.
    ///
    /// SQLite before 3.51.3 loses commits when a checkpoint has read where the log ends, finds it moved already, and another connection's
    /// commit starts the log over before the checkpoint looks how much is moved (its "WAL-reset bug"). Within one process that
    /// cannot be: a checkpoint begins when there is something to move, and no other runs. Another process may have moved everything just before. A
    /// reader that began earlier prevents it: if it reads the log, no connection can start the log over; if it reads the file alone,
    /// because everything is moved, no checkpoint can move anything.
    private func checkpoint(on connection: Connection) throws(StoreError) {
        let reader = try openConnection(\.reader)
        _ = try reader.beginRead()
        defer { reader.endRead() }
        // The first read takes the reader's lock.
        try reader.use { (handle) throws(StoreError) in
            _ = try handle.first(.anyEntry, step: { $0.step() }, take: { _ in true })
        }
        try connection.use { (handle) throws(StoreError) in try handle.checkpoint() }
    }

    private func openConnection(_ place: WritableKeyPath<State, Connection?>) throws(StoreError) -> Connection {
        if let connection = state.withLock({ $0[keyPath: place] }) { return connection }
        let connection = Connection(
            try Handle(path: path, options: options, role: .checkpointer, partitions: partitions))
        state.withLock { $0[keyPath: place] = connection }
        return connection
    }
}
