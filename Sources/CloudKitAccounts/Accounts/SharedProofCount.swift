import CloudKitModel
import CloudKitRecordLayer

/// The count of an attempt to prove an account where several nodes serve one store.
///
/// The attempt is stored as a failure before its proof is checked, and taken back if it was none: attempts at several nodes at once cannot
/// pass together, and a node that stops in between leaves one failure too many rather than one too few.
struct SharedProofCount: Sendable {
    let store: AccountStore
    /// Keyed hash of the address of the account.
    let email: String
    /// Keyed hash of the network address.
    let address: String
    /// Milliseconds since 1970.
    let now: Int64

    /// Rows of each kind that are looked at for being forgotten, with each attempt that is stored.
    private static let sweptAtOnce = 4

    /// Runs a check unless there were too many wrong proofs; a refusal with `authenticationFailed` counts as one.
    func count<Value>(_ check: () async throws -> Value) async throws -> Value {
        if let wait = try await reserve() {
            throw RequestFailure(.throttled, "too many failed sign-ins", retryAfter: wait)
        }
        do {
            let value = try await check()
            // A count that stays stored does little harm; the success must not be taken back for it.
            try? await takeBack(endsCount: true)
            return value
        } catch let failure as RequestFailure where failure.code == .authenticationFailed {
            throw failure
        } catch {
            try? await takeBack(endsCount: false)
            throw error
        }
    }

    private var keys: [SignInThrottle.Key] { SignInThrottle.keys(email, address) }

    /// Stores the attempt, or returns the seconds to wait for one.
    private func reserve() async throws -> Double? {
        let start = store.serverEnvironment.randomHex(bytes: 4)
        return try await store.write { transaction in
            var throttle = SignInThrottle()
            for key in keys {
                let row = try await ProofFailures.table.row(key.rowKey, in: transaction)
                throttle.load(key, times: row?.times ?? [], now: now)
            }
            if let wait = throttle.wait(email: email, address: address, now: now) { return wait }
            throttle.failed(email: email, address: address, now: now)
            for key in keys {
                let row = ProofFailures(times: throttle.times(of: key))
                try ProofFailures.table.set(key.rowKey, to: row, in: &transaction)
            }
            try await Self.sweep(from: start, now: now, &transaction)
            return nil
        }
    }

    /// - Parameter endsCount: Whether the earlier failures of the network address at the account are forgotten as well.
    private func takeBack(endsCount: Bool) async throws {
        try await store.write { transaction in
            for key in keys {
                guard var row = try await ProofFailures.table.row(key.rowKey, in: transaction) else { continue }
                if let index = row.times.lastIndex(of: now) { row.times.remove(at: index) }
                if row.times.isEmpty || (endsCount && key.kind == .pair) {
                    ProofFailures.table.clear(key.rowKey, in: &transaction)
                } else {
                    try ProofFailures.table.set(key.rowKey, to: row, in: &transaction)
                }
            }
        }
    }

    /// Removes forgotten rows behind a place that is another one each time: more than attempts add, in the long run.
    private static func sweep(from start: String, now: Int64, _ transaction: inout StorageWriter) async throws {
        for kind in SignInThrottle.Kind.allCases {
            let page = try await ProofFailures.table.page(
                prefix: kind.rawValue + "/", after: "\(kind.rawValue)/\(start)", limit: sweptAtOnce, in: transaction)
            for (key, row) in page where row.times.allSatisfy({ $0 + SignInThrottle.window < now }) {
                let name = String(key.dropFirst(kind.rawValue.count + 1))
                ProofFailures.table.clear(OwnedRowKey(owner: kind.rawValue, name: name), in: &transaction)
            }
        }
    }
}
