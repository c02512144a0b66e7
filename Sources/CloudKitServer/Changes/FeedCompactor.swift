import CloudKitModel
import CloudKitRecordLayer

/// Compacts the feeds of all private databases once a day, while the cloud runs.
package struct FeedCompactor: Sendable {
    private let cloud: Cloud
    private let kept: Int64

    /// The pause before the first run, which spares a cloud that has just started.
    package static let firstPause = Duration.seconds(600)
    /// From the end of one run to the next.
    package static let pause = Duration.seconds(86_400)
    /// Between two databases, so that requests do not notice.
    package static let pauseBetweenDatabases = Duration.milliseconds(20)

    /// - Parameters:
    ///   - kept: Milliseconds for which deletions are kept: a device that was away no longer goes on where it was.
    package init(cloud: Cloud, kept: Int64) {
        self.cloud = cloud
        self.kept = kept
    }

    /// Works until waiting throws.
    ///
    /// - Parameters:
    ///   - done: Receives the result of each run.
    ///   - failed: Receives errors of the store; the run continues with the next database.
    package func run(
        done: @Sendable (FeedCompaction) -> Void, failed: @Sendable (any Error) -> Void
    ) async {
        do {
            try await rest(Self.firstPause)
            while true {
                done(try await runOnce(failed))
                try await rest(Self.pause)
            }
        } catch {}
    }

    private func rest(_ duration: Duration) async throws { try await cloud.serverEnvironment.sleep(duration) }

    private func runOnce(_ failed: @Sendable (any Error) -> Void) async throws -> FeedCompaction {
        let cutoff = cloud.serverEnvironment.now() - kept
        var total = FeedCompaction()
        var last: StoragePartition?
        while true {
            let databases: [StoragePartition]
            do {
                databases = try await CompactFeeds(cloud).databases(after: last, limit: Self.databasesAtOnce)
            } catch {
                failed(error)
                return total
            }
            for database in databases {
                do {
                    total.add(try await CompactFeeds(cloud).run(of: database, before: cutoff))
                } catch {
                    failed(error)
                }
                try await rest(Self.pauseBetweenDatabases)
            }
            if databases.count < Self.databasesAtOnce { return total }
            last = databases.last
        }
    }

    private static let databasesAtOnce = 500
}
