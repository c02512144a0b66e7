import CloudKitHTTP
import OrderedStoreSQLite
import ServiceLifecycle

/// Tells the metrics of the store's commits while the cloud runs.
struct CommitCounter: Service {
    var store: SQLiteStore
    var metrics: RequestMetrics

    func run() async throws {
        for await _ in store.commits().cancelOnGracefulShutdown() { metrics.committed() }
    }
}
