import CloudKitServer
import Logging
import ServiceLifecycle

/// Runs the work that transactions have deferred, while the cloud runs.
struct OutboxWorker: Service {
    var cloud: Cloud
    var logger: Logger

    /// The pause after a run that found no work.
    private static let pause = Duration.milliseconds(500)

    func run() async {
        await cancelWhenGracefulShutdown {
            // Index builds are long: the outbox does not wait for them.
            async let builds: Void = buildIndexes()
            await cloud.nodes.run(.outbox) { await runOutbox() }
            await builds
        }
    }

    private func buildIndexes() async {
        do {
            try await FinishIndexBuilds(cloud).run()
        } catch {
            logger.warning("index builds failed", metadata: ["error": .string(String(describing: error))])
        }
        while !Task.isCancelled {
            do {
                try await FinishIndexBuilds(cloud).runWaiting()
                try await FinishIndexBuilds(cloud).runAbandoned()
            } catch {
                logger.warning("index build failed", metadata: ["error": .string(String(describing: error))])
            }
            try? await Task.sleep(for: Self.pause)
        }
    }

    private func runOutbox() async {
        while !Task.isCancelled {
            var hasMore = false
            do {
                hasMore = try await RunOutbox(cloud).run()
            } catch {
                logger.warning("outbox failed", metadata: ["error": .string(String(describing: error))])
            }
            if !hasMore { try? await Task.sleep(for: Self.pause) }
        }
    }
}
