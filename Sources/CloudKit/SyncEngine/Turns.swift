import Synchronization

/// Lets one at a time in, in the order in which they came.
final class Turns: Sendable {
    private struct Line {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let line = Mutex(Line())

    /// Waits for its turn and runs the body. Waiting is not ended by cancellation: whoever is at it is.
    nonisolated(nonsending) func take<Value>(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async rethrows -> Value {
        await wait()
        defer { pass() }
        return try await body()
    }

    private nonisolated(nonsending) func wait() async {
        await withCheckedContinuation { continuation in
            let isFree = line.withLock { line in
                guard line.isTaken else {
                    line.isTaken = true
                    return true
                }
                line.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    private func pass() {
        let next = line.withLock { line -> CheckedContinuation<Void, Never>? in
            guard line.waiting.isEmpty else { return line.waiting.removeFirst() }
            line.isTaken = false
            return nil
        }
        next?.resume()
    }
}
