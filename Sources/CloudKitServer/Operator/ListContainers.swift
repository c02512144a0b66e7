import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer

/// Lists the containers of a cloud for its operators.
package struct ListContainers: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns the containers that have data or an API token, in the order of their names.
    package func run() async throws -> [ContainerID] {
        let partitions = try await cloud.store.read(.registry) { try await $0.firstPartitions() }
        var names = Set(partitions.compactMap { DatabaseContext(partition: $0)?.address.container.name })
        for token in try await cloud.accountStore.apiTokens.list() where !token.isRevoked {
            names.insert(token.container)
        }
        return names.sorted().map { ContainerID($0) }
    }
}

/// The use that a container makes of a cloud in one environment.
package struct ContainerUsage: Hashable, Sendable {
    /// Records of the public database.
    package var publicRecords: UInt64 = 0
    /// Stored bytes of the public database's records.
    package var publicBytes: UInt64 = 0
    /// Private databases that were counted.
    package var privateDatabases = 0
    /// Records of those private databases.
    package var privateRecords: UInt64 = 0
    /// Stored bytes of those private databases' records.
    package var privateBytes: UInt64 = 0
    /// Whether all private databases were counted.
    package var isComplete = true

    /// Creates the use of an empty container.
    package init() {}
}

/// Measures the use that a container makes of a cloud, by the counters of its databases.
package struct MeasureContainer: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Measures a container.
    ///
    /// - Parameter databasesMax: The number of private databases to count at most; each takes a read.
    package func run(
        _ container: ContainerID, _ environment: Environment, databasesMax: Int
    ) async throws -> ContainerUsage {
        var usage = ContainerUsage()
        let open = try await cloud.store.read(.publicDatabase(container, environment)) {
            try await $0.databaseHeader()
        }
        usage.publicRecords = open.recordCount
        usage.publicBytes = open.recordBytes
        var partitions = try await cloud.store.read(.registry) { view in
            try await view.knownPartitions(
                prefix: StoragePartition.privateDatabases(container, environment), after: nil, limit: databasesMax + 1)
        }
        usage.isComplete = partitions.count <= databasesMax
        partitions = Array(partitions.prefix(databasesMax))
        usage.privateDatabases = partitions.count
        for partition in partitions {
            let header = try await cloud.store.read(partition) { try await $0.databaseHeader() }
            usage.privateRecords += header.recordCount
            usage.privateBytes += header.recordBytes
        }
        return usage
    }
}
