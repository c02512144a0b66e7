import CloudKitServer
import Logging
import OrderedStore
import ServiceLifecycle

/// Runs the work that transactions have deferred, while the cloud runs.
struct OutboxWorker: Service {
    var cloud: Cloud
    var store: any PersistentStore
    var logger: Logger

    /// The pause after a run that found no work.
    private static let pause = Duration.milliseconds(500)
    /// The pauses after which the outbox is looked at although no commit was hinted at: hints may be lost.
    private static let pausesMax = 4

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
            let before = store.hintCount
            do {
                hasMore = try await RunOutbox(cloud).run(isPaced: true)
            } catch {
                logger.warning("outbox failed", metadata: ["error": .string(String(describing: error))])
            }
            if hasMore { continue }
            for _ in 0..<Self.pausesMax {
                try? await Task.sleep(for: Self.pause)
                if store.hintCount != before || Task.isCancelled { break }
            }
        }
    }
}
