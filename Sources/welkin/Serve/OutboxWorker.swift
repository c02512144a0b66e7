import CloudKitServer
import Logging
import ServiceLifecycle

/// Works off what transactions left to be done later, while the cloud runs.
struct OutboxWorker: Service {
    var cloud: Cloud
    var logger: Logger

    /// Between two looks when there was nothing to do.
    private static let pause = Duration.milliseconds(500)

    func run() async {
        await cancelWhenGracefulShutdown {
            do {
                try await FinishIndexBuilds(cloud).run()
            } catch {
                logger.warning("index builds", metadata: ["error": .string(String(describing: error))])
            }
            while !Task.isCancelled {
                var mayBeMore = false
                do {
                    mayBeMore = try await RunOutbox(cloud).run()
                } catch {
                    logger.warning("outbox", metadata: ["error": .string(String(describing: error))])
                }
                if !mayBeMore { try? await Task.sleep(for: Self.pause) }
            }
        }
    }
}
