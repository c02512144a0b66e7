import OrderedStore

/// The disk below the cloud: a store whose reads and commits fail now and then, and which outlives the servers on it.
final class Disk: Sendable {
    /// The faults that may happen now.
    struct Faults {
        /// Probabilities in percent.
        var read = 0
        var commit = 0
        var unknownFate = 0
    }

    let store = MemoryStore(epoch: .random(in: 1 ... .max))
    let faults = Shared(Faults())
    /// Whether the history has come to the point from which a planted fault happens.
    let isTroubled = Shared(false)
    let trail: Trail
    private let chance: Chance
    private let planted: PlantedFault?
    /// The servers that may use the disk; the writes of ended ones that still run do not reach it.
    fileprivate let servers = Shared<Set<Int>>([])
    private let nextServer = Shared(0)
    private let commits = Shared(0)

    init(_ chance: Chance, trail: Trail, planted: PlantedFault?) {
        self.chance = chance
        self.trail = trail
        self.planted = planted
    }

    /// Returns the disk as the next server sees it.
    func mount() -> MountedDisk {
        nextServer.value += 1
        servers.value.insert(nextServer.value)
        return MountedDisk(disk: self, server: nextServer.value)
    }

    /// Takes the disk from a server, as the end of its process does.
    func unmount(_ mounted: MountedDisk) { servers.value.remove(mounted.server) }

    fileprivate enum Fate {
        case done, refused, unknown, forgotten
    }

    fileprivate func fateOfRead() throws {
        guard chance.percent(faults.value.read) else { return }
        trail.note("disk read fails")
        throw Self.failure
    }

    fileprivate func fateOfCommit() -> Fate {
        if isTroubled.value { commits.value += 1 }
        if isTroubled.value, planted == .lostCommit, commits.value.isMultiple(of: 23) { return .forgotten }
        if chance.percent(faults.value.commit) { return .refused }
        if chance.percent(faults.value.unknownFate) { return .unknown }
        return .done
    }

    fileprivate static let failure = StoreError(
        code: .unavailable, reason: "the simulated disk failed", remedy: "try again")
}

/// The disk as one server sees it.
struct MountedDisk: OrderedStore {
    fileprivate let disk: Disk
    fileprivate let server: Int

    var epoch: UInt64 { disk.store.epoch }

    func read<Value: Sendable>(
        _ partition: Partition, _ body: @Sendable (inout ReadTransaction) async throws -> Value
    ) async throws -> Value {
        // A disk takes its time, and others go on meanwhile.
        await Task.yield()
        try check()
        try disk.fateOfRead()
        let value = try await disk.store.read(partition, body)
        await Task.yield()
        try check()
        return value
    }

    func write<Value: Sendable>(
        _ partitions: [Partition], _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> Value {
        await Task.yield()
        try check()
        let fate = disk.fateOfCommit()
        let lost = Shared<Value?>(nil)
        let value: Value
        do {
            value = try await disk.store.write(partitions) { transaction in
                await Task.yield()
                let value = try await body(&transaction)
                await Task.yield()
                try check()
                if fate == .forgotten {
                    lost.value = value
                    throw Disk.failure
                }
                guard fate != .refused else {
                    disk.trail.note("disk commit fails")
                    throw Disk.failure
                }
                return value
            }
        } catch {
            // A planted fault: reported as done.
            if let value = lost.value { return value }
            throw error
        }
        await Task.yield()
        try check()
        guard fate != .unknown else {
            disk.trail.note("disk commit of unknown fate")
            throw Disk.failure
        }
        return value
    }

    func commits() -> AsyncStream<Partition> { disk.store.commits() }

    func renewEpoch(from epoch: UInt64) async throws {
        try check()
        try await disk.store.renewEpoch(from: epoch)
    }

    private func check() throws {
        guard disk.servers.value.contains(server) else { throw StoreError.closed }
    }
}
