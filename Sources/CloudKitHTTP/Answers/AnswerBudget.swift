import CloudKitModel
import Synchronization

/// Bounds the bytes that all answers under way with records may hold, from before they are read until the client has them.
///
/// A request reserves before it runs. One sender holds half of the budget at most. Where there is no space, a request waits a little and
/// is then refused with 503. A part is left for the answers to saves; answers without records are small and reserve nothing, so that health and
/// sign-in go on.
final class AnswerBudget: Sendable {
    private typealias Waiter = CheckedContinuation<Bool, Never>

    private let queue: Mutex<AnswerQueue<Waiter>>
    private let waitMax: Duration
    private let sleep: @Sendable (Duration) async throws -> Void

    /// - Parameters:
    ///   - bytesMax: Bytes of all answers together.
    ///   - waitMax: The time for which a request waits for space.
    init(
        bytesMax: Int, waitMax: Duration = .seconds(10), sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        queue = Mutex(AnswerQueue(bytesMax: bytesMax))
        self.waitMax = waitMax
        self.sleep = sleep
    }

    /// The bytes that are reserved or held now.
    var heldBytes: Int { queue.withLock(\.heldBytes) }

    /// The number of requests that wait.
    var waiterCount: Int { queue.withLock(\.waiterCount) }

    /// Reserves bytes for an answer, once there is space.
    ///
    /// - Throws: `tryAgainLater`.
    func reserve(
        _ bytes: Int, for sender: String, _ kind: AnswerKind = .fetch
    ) async throws(RequestFailure) -> AnswerReservation {
        let bytes = queue.withLock { $0.grantable(bytes) }
        if !queue.withLock({ $0.tryTake(bytes, for: sender, kind) }) {
            guard await waitForSpace(bytes, sender, kind) else { throw Self.noSpace }
        }
        return AnswerReservation(bytes: bytes) { [self] in change(by: $0, of: sender) }
    }

    private func waitForSpace(_ bytes: Int, _ sender: String, _ kind: AnswerKind) async -> Bool {
        let timer = Mutex<Task<Void, Never>?>(nil)
        let isGranted = await withCheckedContinuation { (waiter: Waiter) in
            let (id, granted) = queue.withLock { queue in
                let id = queue.wait(bytes, for: sender, kind, waiter)
                return (id, queue.grant())
            }
            for waiter in granted { waiter.resume(returning: true) }
            guard let id else { return waiter.resume(returning: false) }
            let task = Task { [self] in
                guard (try? await sleep(waitMax)) != nil else { return }
                queue.withLock { $0.giveUp(id) }?.resume(returning: false)
            }
            timer.withLock { $0 = task }
        }
        timer.withLock { $0 }?.cancel()
        return isGranted
    }

    private func change(by bytes: Int, of sender: String) {
        let granted = queue.withLock { queue in
            queue.change(by: bytes, of: sender)
            return bytes < 0 ? queue.grant() : []
        }
        for waiter in granted { waiter.resume(returning: true) }
    }

    private static let noSpace = RequestFailure(
        .tryAgainLater, "the answers to other requests have not been read yet",
        remedy: "Read answers to their end, and try again.", retryAfter: 2)
}
