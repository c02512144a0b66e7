import OrderedStore
import Synchronization

/// A session on a thread of its own, on which the transactions that use it run.
final class PostgresConnection: Sendable {
    /// The thread that waits for the server.
    let thread: BlockingThread
    /// How often its pool had been renewed when it was opened.
    let renewal: Int
    private let session: Mutex<PostgresSession>

    private init(_ session: consuming sending PostgresSession, on thread: BlockingThread, renewal: Int) {
        self.session = Mutex(session)
        self.thread = thread
        self.renewal = renewal
    }

    deinit { thread.stop() }

    /// Connects on a new thread.
    static func open(
        _ configuration: PostgresConfiguration, _ options: PostgresStore.Options, renewal: Int = 0
    ) async throws(PostgresFailure) -> PostgresConnection {
        let thread: BlockingThread
        do throws(StoreError) { thread = try BlockingThread.start() } catch { throw .refused(error) }
        let result: Result<PostgresConnection, PostgresFailure> = await withTaskExecutorPreference(thread) {
            do throws(PostgresFailure) {
                return .success(
                    PostgresConnection(try PostgresSession(configuration, options), on: thread, renewal: renewal))
            } catch {
                thread.stop()
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Whether the connection can be used again.
    var isOpen: Bool { session.withLock { $0.isOpen } }

    func use<Value: Sendable, Failure: Error>(
        _ body: (inout PostgresSession) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try session.withLock { (session) throws(Failure) in try body(&session) }
    }

    func close() { session.withLock { $0.close() } }
}
