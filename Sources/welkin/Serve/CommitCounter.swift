import CloudKitHTTP
import OrderedStore
import ServiceLifecycle

/// Counts the store's commits in the metrics while the cloud runs.
struct CommitCounter: Service {
    var store: any PersistentStore
    var metrics: RequestMetrics

    func run() async throws {
        for await _ in store.commits().cancelOnGracefulShutdown() { metrics.committed() }
    }
}
