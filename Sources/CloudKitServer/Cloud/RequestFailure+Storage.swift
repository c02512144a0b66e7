import CloudKitModel
import CloudKitRecordLayer

extension RequestFailure {
    /// Creates the failure for errors of a store that callers may retry.
    ///
    /// - Returns: nil for an error that is not a store's, or that only the operator can repair; a damaged value is named as such.
    package init?(storage error: any Error) {
        if (error as? StorageError)?.code == .damagedValue || (error as? FilesError)?.code == .damaged {
            self = .dataDamaged
            return
        }
        let wait: Double?
        switch error {
        case let error as StorageError: wait = Self.wait(error.code)
        case let error as FilesError: wait = Self.wait(error.code)
        default: wait = nil
        }
        guard let wait else { return nil }
        self.init(.tryAgainLater, "the store cannot do this now", remedy: "Try again later.", retryAfter: wait)
    }

    private static func wait(_ code: StorageError.Code) -> Double? {
        switch code {
        case .busy, .closed: 1
        case .unavailable, .diskFull, .readOnly: 30
        case .corrupt, .damagedValue, .newerFormat, .olderFormat, .notAStore, .partitionNotNamed: nil
        }
    }

    private static func wait(_ code: FilesError.Code) -> Double? {
        switch code {
        case .wrongOffset: 1
        case .diskFull, .unavailable: 30
        case .missing, .damaged: nil
        }
    }
}
