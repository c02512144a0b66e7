import CloudKitDevice
import CloudKitModel

/// Why a call to the cloud failed, or one item of it; it becomes a `CKError` only where the app sees it.
package enum CallFailure: Error, Hashable, Sendable {
    /// The server said no.
    case refused(RequestFailure)
    /// The request breaks a rule that this device can see by itself (B-LIM-01, B-BAT-07, B-BAT-08, B-QRY-01, B-DB-04).
    case limitExceeded(String)
    case invalidArguments(String)
    /// The device does not know its cloud; the text says what to do.
    case misconfigured(String)
    /// Nobody is signed in (B-ACC-02).
    case notSignedIn
    /// Somebody is signed in, and neither profile nor cloud lets them in; the text says why.
    case accountUnusable(String)
    /// This device has not the keys that something sealed needs; the text says which.
    case keysMissing(String)
    /// Nobody has handed this account the key of a share yet; the text says of which record (B-TM-06).
    case waitingForKey(String)
    /// Something sealed does not open, or the cloud went back in time; the text says what.
    case tampered(String)
    /// Somebody is signed in and has to show again who they are (B-ACC-02).
    case accountToBeVerified(String)
    /// An earlier answer asked for quiet, which is still running (B-THR-03).
    case rateLimited(Duration)
    case transport(TransportFailure)
    /// The operation took longer than its `timeoutIntervalForResource`.
    case overdue
    case cancelled
    /// The file of an asset is not there, or changed while it was sent (B-AST-05).
    case assetFileNotFound(String)
    case assetFileModified(String)
    /// The cloud has lost the file of an asset, or does not give it (B-AST-05).
    case assetNotAvailable(String)
    /// What came of a file is not what was saved: the text says how that showed.
    case assetDamaged(String)
    /// A fetched file has no place on this machine: a full disk, a folder that cannot be written.
    case assetCacheUnusable(FileFailure)
    /// What came back is not an answer of a CloudKit server.
    case answerMalformed(status: Int)

    package static let tamperingRemedy =
        "If this device is signed in to the right account, its cloud shows something else than was saved: tell its operator."

    /// Puts a name to whatever the layers below threw.
    package init(_ error: any Error) {
        switch error {
        case let failure as CallFailure: self = failure
        case let failure as RequestFailure: self = .refused(failure)
        case let failure as TransportFailure: self = .transport(failure)
        case is CancellationError: self = .cancelled
        default: self = .transport(.connectionLost)
        }
    }

    /// Whether the zone as such is the trouble, so that every item in it has the same error and other zones go on.
    var concernsZone: Bool {
        guard case .refused(let failure) = self else { return false }
        switch failure.code {
        case .zoneNotFound, .zonePurged, .zoneKeysReset, .zoneBusy: return true
        default: return false
        }
    }

    /// Whether the next request would come to the same, so that there is no use in sending it.
    package var concernsConnection: Bool {
        switch self {
        case .misconfigured, .notSignedIn, .accountUnusable, .accountToBeVerified, .rateLimited, .transport, .overdue,
            .cancelled,
            .answerMalformed:
            return true
        case .refused(let failure):
            switch failure.code {
            case .throttled, .tryAgainLater, .authenticationFailed, .authenticationRequired, .accountRestricted,
                .accountTemporarilyUnavailable, .badContainer, .quotaExceeded:
                return true
            default: return false
            }
        case .limitExceeded, .invalidArguments, .keysMissing, .waitingForKey, .tampered, .assetFileNotFound,
            .assetFileModified, .assetNotAvailable, .assetDamaged, .assetCacheUnusable:
            return false
        }
    }
}
