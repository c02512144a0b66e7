import CloudKitModel
import CloudKitRecordLayer

/// Makes server change tokens expire (B-CHG-09).
package struct ExpireTokens: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Makes every token of a zone's feed that was given out so far too old (B-CHG-09), as compaction does in the long run.
    package func run(
        ofZone name: String, of user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws {
        let partition = StoragePartition.privateDatabase(container, environment, of: user)
        try await cloud.store.write(partition) { transaction in
            var header = try await transaction.databaseHeader()
            var zone = try ZoneAccess.live(try await transaction.zone(named: name))
            zone.latestVersion = header.takeVersions(1)
            zone.horizon = zone.latestVersion
            zone.memberHorizon = zone.latestVersion
            transaction.set(zone)
            transaction.set(header)
        }
    }

    /// Makes every token of a user's database feed that was given out so far too old.
    package func run(
        ofDatabaseOf user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws {
        let partition = StoragePartition.privateDatabase(container, environment, of: user)
        try await cloud.store.write(partition) { transaction in
            var header = try await transaction.databaseHeader()
            header.begin(after: cloud.storeHistory.versionBeforeFirst(now: cloud.serverEnvironment.now()))
            header.horizon = header.takeVersions(1)
            transaction.set(header)
        }
    }
}
