import CloudKitHTTP
import Logging
import OrderedStoreSQLite
import ServiceLifecycle

/// Notices what commands write to the store while the cloud runs, so that an account that was disabled or a device that was signed
/// out is out at once.
struct ForeignCommits: Service {
    var store: SQLiteStore
    var application: CloudApplication
    var logger: Logger

    /// Between two looks; each costs some microseconds.
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
                    logger.warning("other processes", metadata: ["error": .string(String(describing: error))])
                }
                try? await Task.sleep(for: Self.pause)
            }
        }
    }
}
