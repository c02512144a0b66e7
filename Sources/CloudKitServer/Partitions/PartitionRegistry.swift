import CloudKitModel
import CloudKitRecordLayer
import Synchronization

/// The cloud's list of its own partitions, so that an index can be built over all of them.
///
/// A partition is listed before its first write.
final class PartitionRegistry: Sendable {
    private let store: Storage
    private let known = Mutex<Set<StoragePartition>>([])
    /// The times at which this process last promised work, milliseconds since 1970.
    private let promises = Mutex<[StoragePartition: Int64]>([:])
    /// Promises of any node, with the time of this process's clock at which they were first seen.
    private let watched = Mutex<[StoragePartition: (promised: Int64, since: Duration)]>([:])
    /// Whether other processes may serve the same store.
    private let isShared: Bool

    init(store: Storage, isShared: Bool = false) {
        self.store = store
        self.isShared = isShared
    }

    /// Lists a partition unless it is listed.
    func enter(_ partition: StoragePartition) async throws {
        if known.withLock({ $0.contains(partition) }) { return }
        let isListed = try await store.read(.registry) { try await $0.isKnown(partition) }
        if !isListed {
            try await store.write(.registry) { $0.setKnown(partition) }
        }
        known.withLock { _ = $0.insert(partition) }
    }

    /// Announces that a partition will have work waiting, before it has: a promise without work costs a look, work without
    /// a promise would wait indefinitely.
    func registerPendingWork(in partition: StoragePartition, now: Int64) async throws {
        try await store.write(.registry) { $0.setPending(partition, promised: now) }
        promises.withLock { promises in
            if promises.count >= Self.pendingWorkCacheMax { promises.removeAll(keepingCapacity: true) }
            promises[partition] = now
        }
    }

    /// Forgets a promise of this process, before it is removed from the store: after the clock was set back it would seem fresh.
    func forgetPromise(in partition: StoragePartition, promised: Int64) {
        promises.withLock { promises in
            if promises[partition] == promised { promises[partition] = nil }
        }
    }

    /// Returns whether a promise is older than any transaction that relies on it, as far as this process knows.
    ///
    /// The clocks of nodes differ: where there are several, a promise is old once one node has seen it unchanged for that long.
    func isOutlived(_ partition: StoragePartition, promised: Int64, now: Int64, uptime: Duration) -> Bool {
        guard promised + Self.pendingWorkLifetime < now else { return false }
        guard isShared else { return true }
        return watched.withLock { watched in
            if let known = watched[partition], known.promised == promised {
                guard uptime - known.since > .milliseconds(Self.pendingWorkLifetime) else { return false }
                watched[partition] = nil
                return true
            }
            if watched.count >= Self.pendingWorkCacheMax { watched.removeAll(keepingCapacity: true) }
            watched[partition] = (promised, uptime)
            return false
        }
    }

    /// Milliseconds; far longer than any transaction.
    private static let pendingWorkLifetime: Int64 = 300_000

    /// Promises work unless that was done lately.
    func renewWorkPromise(in partition: StoragePartition, now: Int64) async throws {
        if !hasPendingWork(in: partition, now: now) { try await registerPendingWork(in: partition, now: now) }
    }

    /// Notes that the partition's user registers an address of a push service, before it is stored: after a restart
    /// noted partitions are visited.
    func notePush(in partition: StoragePartition, now: Int64) async throws {
        try await store.write(.registry) { [isShared] transaction in
            transaction.setPushed(partition, now: now)
            if isShared { transaction.setNewlyPushed(partition) }
        }
    }

    /// Returns whether a promise of this process is fresh enough to cover another transaction, so that frequent
    /// work is not promised each time.
    func hasPendingWork(in partition: StoragePartition, now: Int64, within: Int64 = pendingWorkFreshness) -> Bool {
        promises.withLock { $0[partition] }.map { $0 <= now && now - $0 < within } ?? false
    }

    /// Milliseconds; a small part of a promise's lifetime.
    static let pendingWorkFreshness: Int64 = 60_000
    private static let pendingWorkCacheMax = 10_000

    /// Every container and environment that has data.
    func containers() async throws -> Set<ContainerEnvironment> {
        Set(
            try await databases().compactMap { partition in
                DatabaseContext(partition: partition).map {
                    ContainerEnvironment(container: $0.address.container, environment: $0.address.environment)
                }
            })
    }

    /// Every listed partition of a database.
    func databases() async throws -> [StoragePartition] {
        try await store.read(.registry) { view in
            try await view.knownPartitions(prefix: "private/") + view.knownPartitions(prefix: "public/")
        }.filter { DatabaseContext(partition: $0) != nil }
    }

    /// Every listed partition with data of one container and environment.
    func databases(of container: ContainerID, _ environment: Environment) async throws -> [StoragePartition] {
        try await store.read(.registry) { view in
            try await view.knownPartitions(prefix: StoragePartition.publicDatabase(container, environment).name)
                .filter { $0 == .publicDatabase(container, environment) }
                + view.knownPartitions(prefix: StoragePartition.privateDatabases(container, environment))
        }
    }
}

/// A container and environment, which has a schema of its own (B-DB-01).
struct ContainerEnvironment: Hashable, Sendable {
    var container: ContainerID
    var environment: Environment

    init(container: ContainerID, environment: Environment) {
        self.container = container
        self.environment = environment
    }

    /// Returns the place of a lease; nil for the name of other work.
    init?(leaseName name: String) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "index", let environment = Environment(rawValue: String(parts[2])) else {
            return nil
        }
        self.init(container: ContainerID(String(parts[1])), environment: environment)
    }

    /// The name of the lease of its index builds.
    var leaseName: String { "index/\(container.name)/\(environment.rawValue)" }
}
