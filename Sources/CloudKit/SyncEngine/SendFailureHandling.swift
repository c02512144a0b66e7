import CloudKitClient

/// The treatment of a change that was not sent.
enum SendFailureHandling: Hashable, Sendable {
    /// The change stays pending; the engine tries again (B-SYN-08).
    case retry
    /// The change is reported and removed; the app corrects it and adds it again (B-SYN-09).
    case leaveToApp

    init(_ error: CKError) {
        switch error.code {
        case .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
            .requestRateLimited, .serviceUnavailable, .zoneBusy:
            self = .retry
        // Not in Apple's list, but never the change's fault: it was held up, or repeating it is safe (B-THR-07).
        case .operationCancelled, .serverResponseLost:
            self = .retry
        // Neither is what this device has no room for.
        case _ where error.isOfDevice:
            self = .retry
        default:
            self = .leaveToApp
        }
    }
}

/// The outcome of an attempt to sync, as far as the schedule needs it.
enum SyncOutcome: Hashable, Sendable {
    case done
    /// - Parameter after: The minimum pause that the server asks for.
    case failed(after: Duration?)
    /// Another device changed the same records: its version has to be fetched first.
    case conflicted
    /// The app has to resolve the problem; changes that it has added meanwhile are worth an attempt.
    case refused

    init(_ error: CKError) {
        let errors = error.all
        let wait = errors.compactMap(\.retryAfterSeconds).max().map { Duration.seconds(max(0, $0)) }
        if errors.contains(where: { SendFailureHandling($0) == .retry }) || wait != nil {
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
    var all: [CKError] {
        guard code == .partialFailure, let items = partialErrorsByItemID else { return [self] }
        return items.values.compactMap { $0 as? CKError }
    }

    /// Whatever went wrong, as an app sees it.
    static func any(_ error: any Error) -> CKError {
        error as? CKError ?? CKError(Task.isCancelled ? .cancelled : CallFailure(error))
    }
}
