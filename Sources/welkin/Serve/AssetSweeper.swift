import CloudKitHTTP
import CloudKitServer
import Logging
import ServiceLifecycle

/// Removes the files of unreferenced assets, folder by folder, while the cloud runs.
struct AssetSweeper: Service {
    var cloud: Cloud
    var metrics: RequestMetrics
    var logger: Logger

    /// The pause between two folders; all 256 are swept within an hour.
    private static let pause = Duration.seconds(14)

    func run() async {
        await cancelWhenGracefulShutdown { await cloud.nodes.run(.assetSweeps) { await sweep() } }
    }

    private func sweep() async {
        while !Task.isCancelled {
            await sweep { try await SweepAssets(cloud).runDrafts() }
            for folder in UInt8.min ... .max {
                guard (try? await Task.sleep(for: Self.pause)) != nil else { return }
                await sweep { try await SweepAssets(cloud).run(inFolder: folder) }
            }
        }
    }

    private func sweep(_ body: () async throws -> AssetSweep) async {
        do {
            metrics.assetsRemoved(try await body())
        } catch {
            logger.warning("asset sweep failed", metadata: ["error": .string(String(describing: error))])
        }
    }
}
