import CloudKitServer
import Logging
import ServiceLifecycle

/// Runs the work that transactions have deferred, while the cloud runs.
struct OutboxWorker: Service {
    var cloud: Cloud
    var logger: Logger

    /// The pause after a run that found no work.
    private static let pause = Duration.milliseconds(500)
    /// The pauses after which the outbox is looked at although no commit was hinted at: hints may be lost.
    private static let pausesMax = 4

    func run() async {
        await cancelWhenGracefulShutdown {
            // Index builds are long: the outbox does not wait for them.
            async let builds: Void = buildIndexes()
            await cloud.nodes.run(.outbox) { await runOutbox(since: CommitHintCounter(cloud.store)) }
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

    private func runOutbox(since hints: CommitHintCounter) async {
        async let counting: Void = hints.run()
        while !Task.isCancelled {
            var hasMore = false
            let before = hints.count
            do {
                hasMore = try await RunOutbox(cloud).run()
            } catch {
                logger.warning("outbox failed", metadata: ["error": .string(String(describing: error))])
            }
            if hasMore { continue }
            for _ in 0..<Self.pausesMax {
                try? await Task.sleep(for: Self.pause)
                if hints.count != before || Task.isCancelled { break }
            }
        }
        await counting
    }
}
