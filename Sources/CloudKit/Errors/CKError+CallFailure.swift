import CloudKitClient
import CloudKitDevice
import CloudKitModel
import Foundation

extension CKError {
    /// Converts a failed call to the error that an app sees.
    ///
    /// - Parameter operation: The kind of item and the operation that failed.
    init(_ failure: CallFailure, operation: FailedOperation = .other) {
        switch failure {
        case .refused(let refusal):
            self.init(refusal, operation: operation)
        case .limitExceeded(let reason):
            self = .failure(
                .limitExceeded, reason: reason, subcode: 1020, remedy: "Send the halves one after the other.")
        case .invalidArguments(let reason):
            self = .invalidArguments(reason)
        case .beyondWebServices(let reason):
            self = .failure(
                .serverRejectedRequest, reason: reason, description: operation.describe(reason),
                remedy: "The app is configured for documented web services alone, which cannot do this.")
        case .misconfigured(let reason):
            self = .failure(.badContainer, reason: reason)
        case .notSignedIn:
            self = .failure(
                .notAuthenticated, reason: "Nobody is signed in on this device",
                remedy: "Sign in with: welkin login")
        case .accountChanged:
            self = .failure(
                .notAuthenticated, reason: "Another user has signed in since the operation began",
                remedy: "Begin it again for the user who is signed in now.")
        case .keysReplaced:
            self = .failure(
                .accountTemporarilyUnavailable, reason: "The account's keys were reset since the operation began",
                remedy: "Fetch again, and begin the operation again with what is there now.")
        case .accountUnusable(let reason):
            self = .failure(.notAuthenticated, reason: reason, remedy: "Sign in again with: welkin login")
        case .profileUnusable(let failure):
            self = .ofDevice(
                failure, reason: "The profile of this device cannot be used: \(failure)",
                remedy: "Make room on the disk, or make the profile's folder writable for this user, and try again.")
        case .keysMissing(let reason):
            self = .failure(
                .accountTemporarilyUnavailable, reason: reason, description: operation.describe(reason),
                remedy: "Sign in again with: welkin login")
        case .waitingForKey(let reason):
            self = .failure(
                .zoneBusy, reason: reason, description: operation.describe(reason),
                remedy: "Try again when a device of the share's owner was online.", retryAfter: 30)
        case .tampered(let reason), .identityUnconfirmed(let reason):
            self = .failure(
                .internalError, reason: reason, description: operation.describe(reason),
                remedy: CallFailure.tamperingRemedy)
        case .lostVersion(let record, let time):
            let reason =
                "Record '\(record)': the cloud says that it was restored from a backup, "
                + "and shows an older version than this device has seen"
            self = .failure(
                .internalError, reason: reason, description: operation.describe(reason),
                remedy:
                    "Save this device's version again. To go on with the cloud's version: welkin restorations accept",
                details: [Self.restoredToKey: NSNumber(value: time)])
        case .earlierState(let item):
            let reason =
                "\(item): the cloud says that it was restored from a backup, "
                + "and shows an earlier state than this device has seen"
            self = .failure(
                .internalError, reason: reason, description: operation.describe(reason),
                remedy:
                    "Ask the operator of the cloud. To go on with its state: welkin restorations accept; then look who takes part in the shares"
            )
        case .accountVerificationRequired(let reason):
            self = .failure(
                .accountTemporarilyUnavailable, reason: reason,
                remedy: "Keep what is cached and wait for CKAccountChanged.")
        case .rateLimited(let remaining):
            self = .failure(
                .requestRateLimited, reason: "The server asked for fewer requests", subcode: 2061,
                remedy: "Try again when the time is over.", retryAfter: remaining / .seconds(1))
        case .transport(let failure, let endpoint):
            self.init(failure, endpoint: endpoint)
        case .deadlineExceeded:
            self = .failure(.networkFailure, reason: "The operation did not end within its timeoutIntervalForResource")
        case .cancelled:
            self = .failure(.operationCancelled, reason: "The operation was cancelled")
        case .assetFileNotFound(let reason):
            self = .failure(.assetFileNotFound, reason: reason, remedy: "Set an asset whose file can be read.")
        case .assetFileModified(let reason):
            self = .failure(
                .assetFileModified, reason: reason,
                remedy: "Save again; to be safe from changes, set an asset of a copy of the file.")
        case .assetNotAvailable(let reason):
            self = .failure(
                .assetNotAvailable, reason: reason,
                remedy: "Fetch the record again; without the file, leave its key out of desiredKeys.")
        case .assetDamaged(let reason):
            self = .failure(
                .internalError, reason: reason,
                remedy: "Fetch the record again; without the file, leave its key out of desiredKeys.")
        case .assetCacheUnusable(let failure):
            self = .ofDevice(
                failure, reason: "No place for a fetched file: \(failure)",
                remedy: "Make room on the disk, or name another folder with CLOUDKIT_ASSET_CACHE, and fetch again.")
        case .answerMalformed(200):
            // Truncated, or another server's page: the fate of the request is unknown, and repeating it is safe.
            self = .failure(
                .serverResponseLost,
                reason:
                    "The answer is not one of a CloudKit server, or not all of it; the request may have taken effect",
                remedy: "Try again; if it goes on, check the configured endpoint.")
        case .answerMalformed(let status):
            self = .failure(
                .serviceUnavailable,
                reason: "The endpoint did not answer as a CloudKit server does (HTTP status \(status))",
                remedy: "Check the configured endpoint.")
        }
    }

    /// Creates the error that an app sees when no response arrived: no network, or a broken connection (OPEN: where
    /// Apple draws this line).
    ///
    /// - Parameter endpoint: The address of the cloud; nil where it is not known.
    init(_ failure: TransportFailure, endpoint: String?) {
        let server = endpoint.map { "The server at \($0)" } ?? "The server"
        let setting = "CLOUDKIT_ENDPOINT or the endpoint in cloudkit.json"
        switch failure {
        case .unreachable, .refused:
            self = .failure(
                .networkUnavailable, reason: "\(server) could not be reached",
                remedy: "Check the network and \(setting); start a cloud of your own with: welkin serve")
        case .notTrusted:
            self = .failure(
                .networkFailure, reason: "\(server) has no certificate that this machine trusts",
                remedy: "Check its certificate and \(setting).")
        case .connectionLost:
            self = .failure(
                .networkFailure, reason: "The connection to \(endpoint ?? "the server") broke before an answer came")
        case .timedOut:
            self = .failure(.networkFailure, reason: "\(server) did not answer in time")
        case .answerLost:
            self = .failure(
                .serverResponseLost, reason: "The request was sent and its answer was lost; it may have taken effect")
        }
    }

    /// The errors of single items summed up for the older completion blocks (B-BAT-03); nil when there are none.
    static func partial(_ errors: [AnyHashable: any Error], operation: String) -> CKError? {
        errors.isEmpty ? nil : partialFailure(errors, operation: operation)
    }
}

extension Result where Failure == CallFailure {
    /// The result with the error that an app sees.
    func asError(_ operation: CKError.FailedOperation) -> Result<Success, any Error> {
        mapError { CKError($0, operation: operation) }
    }
}
