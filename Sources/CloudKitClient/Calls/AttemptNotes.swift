import CloudKitDevice
import CloudKitModel

/// What a process notes of the attempts to have one request served, for the next process that goes on with the request.
struct AttemptNotes: Sendable {
    /// Returns the last attempt of an earlier process, whose answer did not come; nil: there was none.
    let last: @Sendable () -> RequestAttempt?
    /// Notes an attempt before it is made.
    let note: @Sendable (RequestAttempt) throws(FileFailure) -> Void
}
