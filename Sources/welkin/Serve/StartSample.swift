import CloudKitServer
import Logging
import OrderedStore
import ServiceLifecycle

/// Reads the newest part of the store once, after the start of a cloud, so that damage is known before a client meets it.
struct StartSample: Service {
    var cloud: Cloud
    var store: any PersistentStore
    var logger: Logger

    /// Accounts, the directory and the first databases.
    private static let partitionsMax = 100

    func run() async {
        await cancelWhenGracefulShutdown {
            await read()
            try? await Task.sleep(for: .seconds(Int64(Int32.max)))
        }
    }

    private func read() async {
        do {
            let names = try await store.partitionNames().filter { !Partition($0).hasLargeValues }
                .prefix(Self.partitionsMax)
            _ = try await CheckStore(cloud, isQuick: true) { finding in
                logger.error(
                    "the store is damaged",
                    metadata: [
                        "problem": .string(finding.problem), "remedy": "run welkin check, then restore the store",
                    ])
            }.run(partitions: Array(names))
        } catch {
            logger.warning("checking the store failed", metadata: ["error": .string(String(describing: error))])
        }
    }
}
