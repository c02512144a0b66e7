import CloudKitDevice
import CloudKitModel

/// The failure of a call to the cloud, or of one item of it; it becomes a `CKError` only where the app sees it.
package enum CallFailure: Error, Hashable, Sendable {
    /// The server said no.
    case refused(RequestFailure)
    /// The request breaks a rule that the device checks without the server (B-LIM-01, B-BAT-07, B-BAT-08, B-QRY-01,
    /// B-DB-04).
    case limitExceeded(String)
    case invalidArguments(String)
    /// Documented web services cannot do it; the text says what.
    case beyondWebServices(String)
    /// The device does not know its cloud; the text says what to do.
    case misconfigured(String)
    /// No user is signed in (B-ACC-02).
    case notSignedIn
    /// Another user has signed in since the operation began.
    case accountChanged
    /// The account's keys were replaced since the operation began (B-ZN-12).
    case keysReplaced
    /// A user is signed in, and profile or cloud refuses access; the text says why.
    case accountUnusable(String)
    /// The files of the device's profile cannot be read or written: a full disk, a folder of another user.
    case profileUnusable(FileFailure)
    /// This device has not the keys that something sealed needs; the text says which.
    case keysMissing(String)
    /// This account has not received the key of a share yet; the text names the record (B-TM-06).
    case waitingForKey(String)
    /// Something sealed does not open, or the cloud went back in time; the text says what.
    case tampered(String)
    /// A user has other keys than this device knows, which its user has to confirm; the text says whose.
    case identityUnconfirmed(String)
    /// The cloud says that it was restored from a backup, and has a record in an older version than this device has seen.
    ///
    /// - Parameter restoredTo: The time of the state to which it went back, in milliseconds since 1970; 0 if it is not known.
    case lostVersion(record: String, restoredTo: Int64)
    /// The cloud says that it was restored from a backup, and shows a share or a zone as it was before this device has seen it last; the text names
    /// it.
    case earlierState(String)
    /// A user is signed in and has to confirm their identity (B-ACC-02).
    case accountVerificationRequired(String)
    /// An earlier answer asked for quiet, which is still running (B-THR-03).
    case rateLimited(Duration)
    /// No answer arrived; from which endpoint, where that is known.
    case transport(TransportFailure, endpoint: String? = nil)
    /// The operation took longer than its `timeoutIntervalForResource`.
    case deadlineExceeded
    case cancelled
    /// The file of an asset is not there, or changed while it was sent (B-AST-05).
    case assetFileNotFound(String)
    case assetFileModified(String)
    /// The cloud has lost the file of an asset, or does not give it (B-AST-05).
    case assetNotAvailable(String)
    /// The fetched file is not the saved one: the text says how that was detected.
    case assetDamaged(String)
    /// A fetched file has no place on this machine: a full disk, a folder that cannot be written.
    case assetCacheUnusable(FileFailure)
    /// The response is not one of a CloudKit server.
    case answerMalformed(status: Int)

    /// The advice for a failure that only a cloud that changed data explains.
    package static let tamperingRemedy =
        "If this device is signed in to the right account, its cloud shows something else than was saved: tell its operator. "
        + "If it was restored from a backup: welkin restorations"

    /// Converts any error of the layers below.
    package init(_ error: any Error) {
        switch error {
        case let failure as CallFailure: self = failure
        case let failure as RequestFailure: self = .refused(failure)
        case let failure as TransportFailure: self = .transport(failure)
        case let failure as FileFailure: self = .profileUnusable(failure)
        case is CancellationError: self = .cancelled
        default: self = .transport(.connectionLost)
        }
    }

    /// A Boolean value that indicates whether the request may have taken effect all the same (B-THR-07).
    var leavesOutcomeOpen: Bool {
        switch self {
        case .transport(.connectionLost, _), .transport(.answerLost, _), .transport(.timedOut, _), .answerMalformed:
            true
        // A store that fails in the midst of a commit may have done it.
        case .refused(let refusal): refusal.code == .tryAgainLater || refusal.code == .serverUnavailable
        default: false
        }
    }

    /// A Boolean value that indicates whether the request was not looked at, so that the failure does not tell what became of the same request
    /// when it was sent before.
    var saysNothingOfEarlierAttempts: Bool {
        switch self {
        case .rateLimited, .transport, .answerMalformed: true
        case .refused(let refusal):
            switch refusal.code {
            case .zoneBusy, .throttled, .tryAgainLater, .serverUnavailable: true
            default: false
            }
        default: false
        }
    }

    /// A Boolean value that indicates whether the failure concerns the zone as a whole, so that every item in it has
    /// the same error and other zones continue.
    var concernsZone: Bool {
        guard case .refused(let failure) = self else { return false }
        switch failure.code {
        case .zoneNotFound, .zonePurged, .zoneKeysReset, .zoneBusy: return true
        default: return false
        }
    }

    /// A Boolean value that indicates whether the next request would fail in the same way, so that sending it is
    /// useless.
    package var concernsConnection: Bool {
        switch self {
        case .misconfigured, .notSignedIn, .accountChanged, .keysReplaced, .accountUnusable, .profileUnusable,
            .accountVerificationRequired, .rateLimited, .transport, .deadlineExceeded, .cancelled, .answerMalformed:
            return true
        case .refused(let failure):
            switch failure.code {
            case .throttled, .tryAgainLater, .serverUnavailable, .authenticationFailed, .authenticationRequired,
                .accountRestricted,
                .managedAccountRestricted, .accountTemporarilyUnavailable, .badContainer, .unknownAPIToken,
                .quotaExceeded:
                return true
            default: return false
            }
        case .limitExceeded, .invalidArguments, .beyondWebServices, .keysMissing, .waitingForKey, .tampered,
            .identityUnconfirmed, .lostVersion, .earlierState, .assetFileNotFound,
            .assetFileModified, .assetNotAvailable, .assetDamaged, .assetCacheUnusable:
            return false
        }
    }
}
