import CloudKitClient

/// What becomes of a change that was not sent.
enum SendFate: Hashable, Sendable {
    /// It stays pending; the engine tries again by itself (B-SYN-08).
    case retry
    /// It is reported and forgotten; the app mends what is wrong and adds it again (B-SYN-09).
    case leaveToApp

    init(_ code: CKError.Code) {
        switch code {
        case .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
            .requestRateLimited, .serviceUnavailable, .zoneBusy:
            self = .retry
        // Not in Apple's list, but never the change's fault: it was held up, or repeating it is safe (B-THR-07).
        case .operationCancelled, .serverResponseLost:
            self = .retry
        default:
            self = .leaveToApp
        }
    }
}

/// How an attempt to sync ended, as far as the schedule has to know.
enum SyncOutcome: Hashable, Sendable {
    case done
    /// - Parameter after: What the server asked for, at least.
    case failed(after: Duration?)
    /// Somebody else changed the same records: their version has to come first.
    case conflicted
    /// What is wrong is the app's to rekey; what it has added meanwhile is worth an attempt.
    case refused

    init(_ error: CKError) {
        let errors = error.all
        let wait = errors.compactMap(\.retryAfterSeconds).max().map { Duration.seconds(max(0, $0)) }
        if errors.contains(where: { SendFate($0.code) == .retry }) || wait != nil {
            self = .failed(after: wait)
        } else if errors.contains(where: { $0.code == .serverRecordChanged }) {
            self = .conflicted
        } else {
            self = .refused
        }
    }
}

extension CKError {
    /// The errors of single items, or this one.
    fileprivate var all: [CKError] {
        guard code == .partialFailure, let items = partialErrorsByItemID else { return [self] }
        return items.values.compactMap { $0 as? CKError }
    }

    /// Whatever went wrong, as an app sees it.
    static func any(_ error: any Error) -> CKError {
        error as? CKError ?? CKError(Task.isCancelled ? .cancelled : CallFailure(error))
    }
}
