import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer

/// The use that an account makes of one container and environment.
package struct AccountUse: Hashable, Sendable {
    /// The container.
    package var container: ContainerID
    /// The environment.
    package var environment: Environment
    /// The name by which the container knows the account.
    package var user: UserID
    /// Records of the private database.
    package var records: UInt64
    /// Stored bytes of those records.
    package var recordBytes: UInt64
    /// Bytes of the files of the private database.
    package var assetBytes: UInt64
    /// Bytes that the private database may hold; nil: no limit.
    package var quotaBytes: UInt64?
    /// Custom roles that the schema gives to the account.
    package var roles: [String]
}

/// Measures the use that an account makes of a cloud, by the counters of its databases.
package struct MeasureAccount: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Measures an account in the containers that know it, as far as it has a private database or a role there.
    ///
    /// - Parameters:
    ///   - account: The account's identifier.
    ///   - containersMax: The number of containers to look at; each takes four reads.
    /// - Returns: The uses, and whether these are all containers.
    package func run(_ account: String, containersMax: Int) async throws -> (uses: [AccountUse], isComplete: Bool) {
        let names = try await cloud.accountStore.userNames.all(of: account)
        var uses: [AccountUse] = []
        for (container, user) in names.prefix(containersMax) {
            for environment in Environment.allCases {
                if let use = try await use(of: user, in: container, environment) { uses.append(use) }
            }
        }
        return (uses, names.count <= containersMax)
    }

    private func use(
        of user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws -> AccountUse? {
        let partition = StoragePartition.privateDatabase(container, environment, of: user)
        let roles = try await cloud.schema(container, environment).roles(of: user).sorted()
        let isKnown = try await cloud.store.read(.registry) { try await $0.isKnown(partition) }
        guard isKnown || !roles.isEmpty, let place = DatabaseContext(partition: partition) else { return nil }
        let (header, assetBytes) = try await cloud.store.read(partition) { view in
            (try await view.databaseHeader(), try await view.assetBytes())
        }
        guard !header.isUnused || assetBytes > 0 || !roles.isEmpty else { return nil }
        return AccountUse(
            container: container, environment: environment, user: user, records: header.recordCount,
            recordBytes: header.recordBytes, assetBytes: assetBytes,
            quotaBytes: try await cloud.limits(in: place).quotaBytes, roles: roles)
    }
}
