import CloudKitHTTP
import Logging
import OrderedStore
import ServiceLifecycle

/// Detects commits of other processes while the cloud runs and drops the caches, so that disabled accounts and signed-out devices
/// are refused immediately.
struct ForeignCommits: Service {
    var store: any PersistentStore
    var application: CloudApplication
    var logger: Logger

    /// The polling interval; a check costs some microseconds.
    private static let pause = Duration.milliseconds(250)

    func run() async {
        await cancelWhenGracefulShutdown {
            var known: Int64?
            while !Task.isCancelled {
                do {
                    let mark = try await store.foreignCommitMark()
                    if known != mark { application.forget() }
                    known = mark
                } catch {
                    logger.warning(
                        "detecting commits of other processes failed",
                        metadata: ["error": .string(String(describing: error))])
                }
                try? await Task.sleep(for: Self.pause)
            }
        }
    }
}
