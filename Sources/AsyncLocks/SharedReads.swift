import Synchronization

/// Reads that several callers share: each gets the value of a read that began after the call, but while one is under way all who come wait for the
/// next one together.
package final class SharedReads<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private enum Turn: Sendable {
        /// Read, for these others as well.
        case read([CheckedContinuation<Turn, Never>])
        case value(Value)
        /// Read for yourself: the read of another one failed.
        case readAlone
    }

    /// The callers who wait while a read of a key is under way.
    private let waiting = Mutex<[Key: [CheckedContinuation<Turn, Never>]]>([:])

    /// Creates a table without reads.
    package init() {}

    /// Returns a value that is read from now on.
    ///
    /// - Parameter read: Reads the value of the key. Called for others as well; what it throws is this caller's alone, the others read for themselves.
    package func value(of key: Key, _ read: @Sendable () async throws -> Value) async throws -> Value {
        switch await turn(of: key) {
        case .value(let value): return value
        case .readAlone: return try await read()
        case .read(let others):
            defer { endRead(of: key) }
            do {
                let value = try await read()
                for other in others { other.resume(returning: .value(value)) }
                return value
            } catch {
                // It may be this caller's own: a cancelled task.
                for other in others { other.resume(returning: .readAlone) }
                throw error
            }
        }
    }

    /// The number of callers who wait for a read of a key that has not begun, for tests.
    func waitingCount(of key: Key) -> Int { waiting.withLock { $0[key]?.count ?? 0 } }

    /// Whether nothing is read, for tests.
    var isEmpty: Bool { waiting.withLock { $0.isEmpty } }

    private func turn(of key: Key) async -> Turn {
        if waiting.withLock({ $0.isFree(key) }) { return .read([]) }
        return await withCheckedContinuation { continuation in
            let isFree = waiting.withLock { waiting in
                if waiting.isFree(key) { return true }
                waiting[key, default: []].append(continuation)
                return false
            }
            if isFree { continuation.resume(returning: .read([])) }
        }
    }

    private func endRead(of key: Key) {
        let (next, others) = waiting.withLock { waiting in
            guard let all = waiting[key], let first = all.first else {
                waiting[key] = nil
                return (nil as CheckedContinuation<Turn, Never>?, [] as [CheckedContinuation<Turn, Never>])
            }
            waiting[key] = []
            return (first, Array(all.dropFirst()))
        }
        next?.resume(returning: .read(others))
    }
}

extension Dictionary {
    /// Returns whether nobody reads the value of a key; then the caller does.
    fileprivate mutating func isFree<Waiting>(_ key: Key) -> Bool where Value == [Waiting] {
        if self[key] != nil { return false }
        self[key] = []
        return true
    }
}
