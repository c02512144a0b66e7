import CloudKitModel
import CloudKitRecordLayer

extension RequestFailure {
    /// Creates the failure for errors of a store that callers may retry.
    ///
    /// - Returns: nil for an error that is not a store's, or that only the operator can repair; a damaged value is named as such.
    package init?(storage error: any Error) {
        let isOfStore = [.damagedValue, .corrupt].contains((error as? StorageError)?.code)
        if isOfStore || (error as? FilesError)?.code == .damaged {
            self = .dataDamaged
            return
        }
        let wait: (code: Code, seconds: Double)?
        switch error {
        case let error as StorageError: wait = Self.wait(error.code)
        case let error as FilesError: wait = Self.wait(error.code)
        default: wait = nil
        }
        guard let wait else { return nil }
        self.init(wait.code, "the store cannot do this now", remedy: "Try again later.", retryAfter: wait.seconds)
    }

    private static func wait(_ code: StorageError.Code) -> (Code, Double)? {
        switch code {
        case .busy, .closed: (.serverUnavailable, 1)
        // The engine has waited itself before it gives up.
        case .unavailable, .readOnly: (.serverUnavailable, 3)
        case .diskFull: (.tryAgainLater, 30)
        case .corrupt, .damagedValue, .newerFormat, .olderFormat, .notAStore, .partitionNotNamed: nil
        }
    }

    private static func wait(_ code: FilesError.Code) -> (Code, Double)? {
        switch code {
        case .wrongOffset: (.tryAgainLater, 1)
        case .unavailable: (.serverUnavailable, 3)
        case .diskFull: (.tryAgainLater, 30)
        case .missing, .damaged: nil
        }
    }
}
