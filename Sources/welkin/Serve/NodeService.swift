import CloudKitServer
import Logging
import ServiceLifecycle

/// Keeps this process among the nodes of the store, and its leases, while the cloud runs.
struct NodeService: Service {
    var nodes: Nodes
    var logger: Logger

    func run() async {
        await cancelWhenGracefulShutdown {
            await nodes.run { error in
                logger.warning(
                    "renewing the leases of this node failed",
                    metadata: ["error": .string(String(describing: error))])
            }
        }
    }
}
