import AsyncLocks
import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema
import Synchronization

/// Every container's schema, held in memory and read again when another process has changed it.
final class SchemaCache: Sendable {
    private let store: Storage
    private let cache = Mutex<[StoragePartition: Schema]>([:])
    private let reads = SharedReads<StoragePartition, Schema>()

    init(store: Storage) { self.store = store }

    /// Returns the present schema: one short read when it has not changed, which requests that come together share.
    func current(_ partition: StoragePartition) async throws -> Schema {
        try await reads.value(of: partition) { try await self.read(partition) }
    }

    private func read(_ partition: StoragePartition) async throws -> Schema {
        let cached = cache.withLock { $0[partition] }
        let expected = cached == nil ? [] : [StorageReader.schemaVersionKey]
        let newer: Schema? = try await store.read(partition, expecting: expected) { view in
            if let cached, try await view.schemaVersion() == cached.version { return nil }
            return try await view.schema()
        }
        return remember(newer ?? cached ?? .ofTheSystem, partition)
    }

    /// Adds the types and fields that a batch needs, in a transaction of its own, before the batch's.
    func grow(_ partition: StoragePartition, by growth: SchemaGrowth) async throws -> Schema {
        try await change(partition) { $0.merge(growth) }
    }

    /// Changes a schema.
    ///
    /// - Parameters:
    ///   - term: Of the lease under which this is done; nil: none is needed.
    ///   - body: Gives the names of types that it changed.
    func change(
        _ partition: StoragePartition, under term: LeaseTerm? = nil,
        _ body: @Sendable (inout Schema) throws -> Set<String>
    ) async throws -> Schema {
        let schema = try await store.write([partition] + LeaseTerm.partitions(of: term)) { transaction in
            try await term?.check(transaction)
            let before = try await transaction.schema()
            var schema = before
            let changed = try body(&schema)
            // A type of the system that is changed is no longer implied.
            let defined = before.implicitTypes.filter { changed.contains($0) && schema.types[$0] != before.types[$0] }
            schema.implicitTypes.subtract(defined)
            transaction.store(&schema, changed: changed, from: before)
            return schema
        }
        return remember(schema, partition)
    }

    private func remember(_ schema: Schema, _ partition: StoragePartition) -> Schema {
        cache.withLock { cache in
            if let known = cache[partition], known.version > schema.version { return known }
            cache[partition] = schema
            return schema
        }
    }
}
