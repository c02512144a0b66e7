import CloudKit
import Synchronization

/// The outcome of an app's preparation handler.
enum PreparedShare {
    /// The completion handler of a preparation handler; only its first call counts.
    private final class Completion: Sendable {
        private let continuation: Mutex<CheckedContinuation<(CKShare, CKContainer), any Error>?>

        init(_ continuation: CheckedContinuation<(CKShare, CKContainer), any Error>) {
            self.continuation = Mutex(continuation)
        }

        func resume(_ result: Result<(CKShare, CKContainer), any Error>) {
            let waiting = continuation.withLock { continuation in
                defer { continuation = nil }
                return continuation
            }
            waiting?.resume(with: result)
        }

        // An app that gave the handler up never calls it.
        deinit { resume(.failure(SharingPanelError.preparationAbandoned)) }
    }

    /// Calls the handler, and returns what it prepares.
    @MainActor
    static func from(
        _ handler: (@escaping @Sendable (CKShare?, CKContainer?, (any Error)?) -> Void) -> Void
    ) async throws -> (CKShare, CKContainer) {
        try await withCheckedThrowingContinuation { continuation in
            let completion = Completion(continuation)
            handler { share, container, error in
                if let error {
                    completion.resume(.failure(error))
                } else if let share, let container {
                    completion.resume(.success((share, container)))
                } else {
                    completion.resume(.failure(SharingPanelError.nothingToShare))
                }
            }
        }
    }
}
