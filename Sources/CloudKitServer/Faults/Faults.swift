import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer
import Synchronization

/// The faults that are ordered at present.
///
/// They are stored, so that a command can order one while the cloud runs; the stored faults are cached for a second.
package final class Faults: Sendable {
    private struct Memory {
        var faults: [Fault] = []
        var until = Int64.min
    }

    private let store: AccountStore
    private let cacheLifetime: Int64
    private let memory = Mutex(Memory())

    /// - Parameter cacheLifetime: Milliseconds for which the stored faults are cached.
    package init(store: AccountStore, cacheLifetime: Int64 = 1_000) {
        self.store = store
        self.cacheLifetime = cacheLifetime
    }

    /// Orders a fault.
    ///
    /// - Parameters:
    ///   - container: nil: in every container.
    ///   - user: nil: for all users.
    ///   - seconds: How long, at most a year; nil: until it is removed.
    ///   - bytes: Of a quota, and of nothing else.
    ///   - sendsRetryAfter: Whether refusals say how long to wait.
    /// - Throws: `RequestFailure` `badRequest`: values out of bounds, or 1,000 faults are ordered.
    package func order(
        _ kind: Fault.Kind, in container: ContainerID? = nil, for user: UserID? = nil, seconds: Double? = nil,
        bytes: UInt64? = nil, sendsRetryAfter: Bool = true
    ) async throws -> Fault {
        if let seconds, !(0...Self.secondsMax).contains(seconds) { throw Self.badSeconds }
        guard (kind == .quota) == (bytes != nil) else { throw Self.badBytes }
        let now = store.serverEnvironment.now()
        let fault = Fault(
            id: store.serverEnvironment.randomHex(bytes: 8), kind: kind, container: container?.name,
            user: user?.recordName,
            until: seconds.map { now + Int64($0 * 1000) }, bytes: bytes, sendsRetryAfter: sendsRetryAfter)
        try await store.write { transaction in
            var count = 0
            for old in try await Fault.table.rows(in: transaction) {
                if old.until.map({ $0 <= now }) == true {
                    Fault.table.clear(old.id, in: &transaction)
                } else {
                    count += 1
                }
            }
            guard count < Self.countMax else { throw Self.tooMany }
            try Fault.table.set(fault.id, to: fault, in: &transaction)
        }
        forget()
        return fault
    }

    /// Returns the ordered faults, the one that ends first in front.
    package func list() async throws -> [Fault] {
        let now = store.serverEnvironment.now()
        return try await store.read { try await Fault.table.rows(in: $0) }
            .filter { $0.until.map { $0 > now } ?? true }
            .sorted { ($0.until ?? .max, $0.id) < ($1.until ?? .max, $1.id) }
    }

    /// Removes a fault; false if there is none of this name.
    @discardableResult
    package func remove(_ id: String) async throws -> Bool {
        let isThere = try await store.write { transaction in
            guard try await Fault.table.row(id, in: transaction) != nil else { return false }
            Fault.table.clear(id, in: &transaction)
            return true
        }
        forget()
        return isThere
    }

    /// Removes every fault, or those that name a container.
    ///
    /// - Returns: How many there were.
    @discardableResult
    package func removeAll(in container: ContainerID? = nil) async throws -> Int {
        let count = try await store.write { transaction in
            let faults = try await Fault.table.rows(in: transaction)
                .filter { container == nil || $0.container == container?.name }
            for fault in faults { Fault.table.clear(fault.id, in: &transaction) }
            return faults.count
        }
        forget()
        return count
    }

    /// Refuses a request that a fault affects.
    package func check(_ user: UserID?, in container: ContainerID, _ environment: Environment) async throws {
        guard environment == .development else { return }
        let now = store.serverEnvironment.now()
        for fault in try await current(now) where fault.affects(user, in: container, at: now) {
            // Without a user there is no account that could be restricted.
            if fault.kind == .managedAccountRestricted, user == nil { continue }
            if let refusal = fault.refusal(at: now) { throw refusal }
        }
    }

    /// Returns the smallest quota ordered for a user; nil if none is.
    package func quota(of user: UserID, in container: ContainerID, _ environment: Environment) async throws -> UInt64? {
        guard environment == .development else { return nil }
        let now = store.serverEnvironment.now()
        return try await current(now).filter { $0.kind == .quota && $0.affects(user, in: container, at: now) }
            .compactMap(\.bytes).min()
    }

    private func current(_ now: Int64) async throws -> [Fault] {
        if let known = memory.withLock({ now < $0.until ? $0.faults : nil }) { return known }
        let faults = try await store.read { try await Fault.table.rows(in: $0) }
        memory.withLock { $0 = Memory(faults: faults, until: now + cacheLifetime) }
        return faults
    }

    /// Reads the store again: another process may have ordered something.
    package func forget() { memory.withLock { $0.until = .min } }

    /// A year.
    private static let secondsMax = 31_536_000.0
    /// Every request looks through them.
    private static let countMax = 1_000

    private static let badSeconds = RequestFailure(.badRequest, "seconds are 0 to a year (31536000)")
    private static let badBytes = RequestFailure(.badRequest, "bytes go with a quota, and a quota with bytes")
    private static let tooMany = RequestFailure(
        .badRequest, "1000 faults are ordered", remedy: "Take some back first.")
}
