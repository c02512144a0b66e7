import CloudKitModel
import CloudKitRecordLayer

extension RequestFailure {
    /// What callers are told when the store cannot do its work: to come back, where that can help.
    ///
    /// - Returns: nil for anything that only the operator can mend, or that is no fault of the store.
    package init?(storage error: any Error) {
        guard let error = error as? StorageError else { return nil }
        let wait: Double
        switch error.code {
        case .busy, .closed: wait = 1
        case .unavailable, .diskFull, .readOnly: wait = 30
        case .corrupt, .newerFormat, .notAStore, .partitionNotNamed: return nil
        }
        self.init(.tryAgainLater, "the store cannot do this now", remedy: "Try again later.", retryAfter: wait)
    }
}
