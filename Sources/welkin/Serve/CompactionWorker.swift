import CloudKitServer
import Logging
import ServiceLifecycle

/// Compacts the change feeds while the cloud runs.
struct CompactionWorker: Service {
    var cloud: Cloud
    /// The number of days for which deletions are kept.
    var days: Int
    var logger: Logger

    func run() async {
        await cancelWhenGracefulShutdown {
            await cloud.nodes.run(.compaction) { await compact() }
        }
    }

    private func compact() async {
        await FeedCompactor(cloud: cloud, kept: Int64(days) * 86_400_000).run { compaction in
            logger.info(
                "feeds compacted",
                metadata: [
                    "deletions": .stringConvertible(compaction.deletions),
                    "leavings": .stringConvertible(compaction.leavings),
                    "zones": .stringConvertible(compaction.zones),
                ])
        } failed: { error in
            logger.warning("feed compaction failed", metadata: ["error": .string(String(describing: error))])
        }
    }
}
