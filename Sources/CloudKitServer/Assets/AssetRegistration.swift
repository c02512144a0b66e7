import CloudKitModel
import CloudKitRecordLayer

/// Makes uploaded files known to the database for which they are.
struct AssetRegistration: Sendable {
    let cloud: Cloud

    init(_ cloud: Cloud) { self.cloud = cloud }

    /// Keeps a file that is known for the time of another receipt; nil if it is not known.
    func keep(
        _ id: AssetFileID, in partition: StoragePartition, until time: Int64
    ) async throws -> StoredAsset? {
        guard try await cloud.store.read(partition, { try await $0.assets([id])[0] }) != nil else { return nil }
        return try await cloud.store.write(partition) { transaction in
            guard var asset = try await transaction.assets([id])[0] else { return nil }
            asset.keptUntil = max(asset.keptUntil, time)
            transaction.set(asset)
            return asset
        }
    }

    /// Registers a file in its database; from now on it is kept as long as `StoredAsset` says.
    func register(_ asset: StoredAsset, in partition: StoragePartition) async throws {
        try await cloud.registry.enter(partition)
        guard let place = partition.privateDatabase else {
            return try await cloud.store.write(partition) { $0.set(asset) }
        }
        let quota = try await cloud.quotaBytes(of: place.user, in: place.container, place.environment)
        try await cloud.store.write(partition) { transaction in
            let header = try await transaction.databaseHeader()
            try header.checkIsOpen()
            if let quota {
                let assets = try await transaction.assetBytes()
                guard header.recordBytes + assets + UInt64(asset.size) <= quota else {
                    throw RequestFailure.quotaExceeded
                }
            }
            transaction.set(asset)
        }
    }
}
