import CloudKitServer
import Logging
import ServiceLifecycle

/// Keeps this process among the nodes of the store, and its leases, while the cloud runs.
struct NodeService: Service {
    var nodes: Nodes
    var logger: Logger

    /// Between two looks at the clocks of other nodes.
    private static let clockPause = Duration.seconds(10)

    func run() async {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await nodes.run { error in
                        logger.warning(
                            "renewing the leases of this node failed",
                            metadata: ["error": .string(String(describing: error))])
                    }
                }
                if nodes.isShared { group.addTask { await watchClocks() } }
                await group.waitForAll()
            }
        }
    }

    /// Tells the log once when clocks begin to differ, and once when they agree again.
    private func watchClocks() async {
        var isTold = false
        while (try? await Task.sleep(for: Self.clockPause)) != nil {
            let difference = nodes.clockDifference
            let isFar = ClockCheck.Verdict(difference: difference) >= .far
            if isFar, !isTold {
                logger.error(
                    "the clock of another node differs from this one's: set both by NTP",
                    metadata: ["aheadSeconds": .stringConvertible(difference / 1000)])
            } else if !isFar, isTold {
                logger.notice("the clocks of the nodes agree again")
            }
            isTold = isFar
        }
    }
}
