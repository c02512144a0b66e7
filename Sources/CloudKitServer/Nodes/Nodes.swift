import AsyncLocks
import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer
import Synchronization

/// The part of this process in the work that the nodes of one store divide among themselves by leases.
///
/// Each node raises a number in its row every second and holds leases as long as it does: one commit a second, whatever the number of
/// leases. A node whose number stands still for 5 seconds of another's clock counts as dead, and its leases are taken over. A node itself
/// lets go of them earlier, by its own clock. Where one process serves the store there are no rows, and all work is its own.
package final class Nodes: Sendable {
    private struct State {
        /// nil: not among the nodes.
        var id: String?
        /// Whether the row was written.
        var isEntered = false
        /// The end of all leases, by the clock that is never set back.
        var ends = Duration.zero
        /// The leases with their counters.
        var held: [String: UInt64] = [:]
        var wanted: Set<String> = []
        var observations = NodeObservations()
        var abandoned: Set<String> = []
        var count = 1
        /// The calls of `run`.
        var running = 0
    }

    private let store: Storage
    private let serverEnvironment: ServerEnvironment
    /// Whether other processes may serve the same store.
    package let isShared: Bool
    private let state = Mutex(State())
    /// The turns of signs of life: what an earlier one has seen is not noted after what a later one has.
    private let turns = AsyncMutex()

    /// The pause between two signs of life.
    private static let interval = Duration.seconds(1)
    /// Between the end of a lease as its node sees it and as others do.
    private static let margin = Duration.seconds(1)
    /// The pause between two looks at a lease that another node has.
    private static let look = Duration.milliseconds(200)

    init(store: Storage, serverEnvironment: ServerEnvironment, isShared: Bool) {
        self.store = store
        self.serverEnvironment = serverEnvironment
        self.isShared = isShared
    }

    /// The nodes that serve the store, this one included; 1 while this process is not among them.
    package var count: Int { state.withLock { $0.count } }

    /// The milliseconds by which the clock of another living node is ahead of this one's, of that which differs most; negative: behind.
    package var clockDifference: Int64 {
        state.withLock { state in state.id.map { state.observations.clockDifference(to: $0) } ?? 0 }
    }

    /// Returns whether some work is this process's at this moment.
    package func holds(_ work: SharedWork) -> Bool { !isShared || term(of: work.rawValue) != nil }

    /// Gives signs of life until the task is cancelled, then gives all leases back.
    ///
    /// - Parameter failed: Receives errors of the store; it is tried again.
    package func run(failed: @Sendable (any Error) -> Void = { _ in }) async {
        guard isShared else {
            while (try? await serverEnvironment.sleep(.seconds(3600))) != nil {}
            return
        }
        state.withLock { $0.running += 1 }
        while !Task.isCancelled {
            do { try await beat() } catch { if !(error is CancellationError) { failed(error) } }
            try? await serverEnvironment.sleep(Self.interval)
        }
        let isLast = state.withLock { state in
            state.running -= 1
            return state.running == 0
        }
        guard isLast else { return }
        // A cancelled task cannot wait for the store.
        do { try await Task { try await self.leave() }.value } catch { failed(error) }
    }

    /// Does work while it is this process's, until the task is cancelled.
    ///
    /// - Parameter body: Is cancelled when the lease ends, and begun again with the next one.
    package func run(_ work: SharedWork, _ body: @escaping @Sendable () async -> Void) async {
        guard isShared else { return await body() }
        want(work.rawValue)
        while !Task.isCancelled {
            while term(of: work.rawValue) == nil {
                guard (try? await serverEnvironment.sleep(Self.look)) != nil else { return }
            }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await body() }
                group.addTask {
                    while self.term(of: work.rawValue) != nil {
                        guard (try? await self.serverEnvironment.sleep(Self.look)) != nil else { return }
                    }
                }
                await group.next()
                group.cancelAll()
            }
        }
    }

    /// Does a piece of work while no other process does; the lease of a process that dies meanwhile is found as `takeAbandoned()`.
    ///
    /// - Parameter body: Receives the term to be checked by transactions; nil: no other process serves the store.
    func exclusively<Value: Sendable>(
        _ name: String, _ body: (LeaseTerm?) async throws -> Value
    ) async throws -> Value {
        guard isShared else { return try await body(nil) }
        // A command is among the nodes as long as it works.
        let life = Task { await self.run() }
        want(name)
        let result: Result<Value, any Error>
        do {
            var term: LeaseTerm?
            while term == nil {
                try await serverEnvironment.sleep(Self.look)
                term = self.term(of: name)
            }
            result = .success(try await body(term))
        } catch {
            result = .failure(error)
        }
        state.withLock { _ = $0.wanted.remove(name) }
        try? await Task { try await self.beat() }.value
        life.cancel()
        await life.value
        return try result.get()
    }

    /// Returns the names of pieces of work whose process died before they were done, and forgets them.
    func takeAbandoned() -> Set<String> {
        state.withLock { state in
            defer { state.abandoned = [] }
            return state.abandoned
        }
    }

    /// Wants a lease from the next sign of life on.
    func want(_ name: String) { state.withLock { _ = $0.wanted.insert(name) } }

    /// Returns the term of a lease that this process holds; nil: it does not, or no longer surely.
    func term(of name: String) -> LeaseTerm? {
        let now = serverEnvironment.uptime()
        return state.withLock { state in
            guard now < state.ends, let id = state.id, let fence = state.held[name] else { return nil }
            return LeaseTerm(name: name, owner: id, fence: fence)
        }
    }

    // MARK: Signs of life

    private struct Beat: Sendable {
        var table: NodeTable
        var isAlive: Bool
    }

    /// Gives one sign of life, takes free leases and learns of the other nodes.
    func beat() async throws {
        try await turns.withLock { while try await !enter() {} }
    }

    /// - Returns: False: others have taken this node for dead; it enters again under another name.
    private func enter() async throws -> Bool {
        let began = serverEnvironment.uptime()
        let fresh = serverEnvironment.randomHex(bytes: 8)
        let (id, isNew, wanted, observations) = state.withLock { state in
            let id = state.id ?? fresh
            state.id = id
            return (id, !state.isEntered, state.wanted, state.observations)
        }
        let clock = serverEnvironment.now()
        let beat = try await store.write(.nodes) { transaction in
            let before = try await NodeTable(transaction)
            let dead = observations.dead(among: before.nodes, at: began).subtracting([id])
            var table = before
            let isAlive = table.beat(id, isNew: isNew, clock: clock, wanted: wanted, dead: dead)
            try table.store(since: before, &transaction)
            return Beat(table: table, isAlive: isAlive)
        }
        let now = serverEnvironment.uptime()
        return state.withLock { state in
            state.observations.note(beat.table.nodes, at: now, clock: clock)
            guard beat.isAlive else {
                (state.id, state.isEntered, state.held, state.ends) = (nil, false, [:], .zero)
                return false
            }
            state.isEntered = true
            state.ends = began + NodeObservations.lifetime - Self.margin
            state.held = beat.table.leases.filter { $0.value.owner == id }.mapValues(\.fence)
            state.abandoned.formUnion(beat.table.abandoned)
            state.count = max(1, beat.table.nodes.count)
            return true
        }
    }

    /// Gives all leases back and leaves the nodes.
    func leave() async throws {
        let id = state.withLock { state in
            defer { (state.id, state.isEntered, state.held, state.ends, state.count) = (nil, false, [:], .zero, 1) }
            return state.id
        }
        guard let id else { return }
        try await store.write(.nodes) { transaction in
            let before = try await NodeTable(transaction)
            var table = before
            table.leave(id)
            try table.store(since: before, &transaction)
        }
    }
}
