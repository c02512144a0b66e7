import CloudKitHTTP
import CloudKitLogs
import CloudKitServer
import Logging
import ServiceLifecycle

/// Deletes the accounts whose people asked for it, while the cloud runs.
struct AccountDeletionWorker: Service {
    var cloud: Cloud
    var application: CloudApplication
    var log: LogBuffer?
    var logger: Logger

    private static let pause = Duration.seconds(60)

    func run() async {
        await cancelWhenGracefulShutdown { await cloud.nodes.run(.accountDeletions) { await deleteAlways() } }
    }

    private func deleteAlways() async {
        while !Task.isCancelled {
            await deleteDue()
            try? await cloud.serverEnvironment.sleep(Self.pause)
        }
    }

    private func deleteDue() async {
        let orders = OperatorLog(logger: logger, log: log, now: cloud.serverEnvironment.now)
        do {
            let deleted = try await DeleteDueAccounts(cloud).run { _ in application.forget() }
            for deleted in deleted {
                let details = [
                    "account": deleted.account.shownID, "databases": String(deleted.data.databases),
                    "records": String(deleted.data.records), "files": String(deleted.data.files),
                ]
                try await orders.report("accounts/remove", by: "owner", in: nil, details: details) {}
                application.forget()
            }
        } catch is CancellationError {
        } catch {
            logger.error("an account was not deleted", metadata: ["error": .string(String(describing: error))])
        }
    }
}
