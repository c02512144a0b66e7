import CloudKitHTTP
import ServiceLifecycle

/// Goes on serving for a while after the signal to stop, so that proxies notice that `/health` fails before connections are refused.
struct DrainService: Service {
    var application: CloudApplication
    var duration: Duration

    func run() async throws {
        try? await gracefulShutdown()
        application.drain()
        try? await Task.sleep(for: duration)
    }
}
