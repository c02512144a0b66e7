// Constants and functions carry the names that published code spells.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation

/// The domain of this framework's errors.
public let CKErrorDomain: String = "CKErrorDomain"

/// In `userInfo` of `partialFailure`: the errors by the item they belong to.
public let CKPartialErrorsByItemIDKey: String = "CKPartialErrors"

/// In `userInfo`: seconds after which a retry makes sense; may be on any error (B-THR-04).
public let CKErrorRetryAfterKey: String = "CKRetryAfter"

/// In `userInfo` of `zoneNotFound`: true when the user lost and reset the keys of encrypted data (B-ZN-12).
public let CKErrorUserDidResetEncryptedDataKey: String = "CKUserDidResetEncryptedData"

/// In `userInfo` of `serverRecordChanged`: the record as it was fetched (B-SAV-07).
public let CKRecordChangedErrorAncestorRecordKey: String = "AncestorRecord"

/// In `userInfo` of `serverRecordChanged`: the record as the server holds it; merge into this one (B-SAV-07).
public let CKRecordChangedErrorServerRecordKey: String = "ServerRecord"

/// In `userInfo` of `serverRecordChanged`: the record that was sent (B-SAV-07).
public let CKRecordChangedErrorClientRecordKey: String = "ClientRecord"

/// An error of this framework: a code to act on, and details in `userInfo`.
///
/// The two underscored protocols are what makes an `NSError` of this domain castable to `CKError` and back, as Apple's
/// importer arranges it.
public struct CKError: _BridgedStoredNSError, _ObjectiveCBridgeable {
    /// The bridged error.
    public let _nsError: NSError

    /// Creates an error from its bridged form.
    public init(_nsError error: NSError) {
        _nsError = error
    }

    /// The domain of CloudKit errors, `CKErrorDomain`.
    public static var errorDomain: String { CKErrorDomain }
    /// The domain of CloudKit errors, `CKErrorDomain`.
    public static var _nsErrorDomain: String { CKErrorDomain }

    /// The code of the error. A code that this version does not know is an internal error.
    // Foundation's own property ends the process on such a code.
    public var code: Code { Code(rawValue: _nsError.code) ?? .internalError }

    /// Hashes the contents into the given hasher.
    // `NSError.hash` recurses without end here, and so would every hash built on it.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(_nsError.domain)
        hasher.combine(_nsError.code)
    }

    /// The hash value of the contents.
    public var hashValue: Int {
        var hasher = Hasher()
        hash(into: &hasher)
        return hasher.finalize()
    }

    /// The codes of CloudKit errors.
    public enum Code: Int, _ErrorCodeProtocol, Sendable {
        /// The error type of the codes.
        public typealias _ErrorType = CKError

        /// Something inside the framework went wrong; a retry does not help (B-ERR-22).
        case internalError = 1
        /// Some items failed; `partialErrorsByItemID` says which and why (B-BAT-03).
        case partialFailure = 2
        /// The network is not available.
        case networkUnavailable = 3
        /// The network is there, the server was not reached.
        case networkFailure = 4
        /// The container is unknown, or this app may not use it.
        case badContainer = 5
        /// The server is not available; honour `retryAfterSeconds` (B-THR-02).
        case serviceUnavailable = 6
        /// Too many requests; honour `retryAfterSeconds` (B-THR-03).
        case requestRateLimited = 7
        /// The app lacks a right that the request needs.
        case missingEntitlement = 8
        /// There is no usable account (B-ACC-04).
        case notAuthenticated = 9
        /// The user may not do this (B-DB-08).
        case permissionFailure = 10
        /// The record, type or subscription does not exist (B-REC-13).
        case unknownItem = 11
        /// The request is malformed; repeating it does not help.
        case invalidArguments = 12
        /// The server cut the results short.
        @available(*, deprecated)
        case resultsTruncated = 13
        /// The server holds another version; the three records are in the error (B-SAV-07).
        case serverRecordChanged = 14
        /// The server refused the request; a retry does not help (B-ERR-22).
        case serverRejectedRequest = 15
        /// The file of an asset is not there (B-AST-05).
        case assetFileNotFound = 16
        /// The file of an asset changed while it was sent (B-AST-05).
        case assetFileModified = 17
        /// The app is older than the oldest version that the server accepts.
        case incompatibleVersion = 18
        /// A unique field would hold the same value twice.
        case constraintViolation = 19
        /// The operation was cancelled.
        case operationCancelled = 20
        /// Drop the token and fetch from the beginning (B-CHG-09).
        case changeTokenExpired = 21
        /// Another item of the atomic batch failed, so this one was not saved (B-BAT-02).
        case batchRequestFailed = 22
        /// Too many at once in this zone; retry with growing pauses (B-THR-04).
        case zoneBusy = 23
        /// This database cannot do that (B-DB-12).
        case badDatabase = 24
        /// The user's storage is full (B-THR-01).
        case quotaExceeded = 25
        /// The zone does not exist (B-ZN-07); see `CKErrorUserDidResetEncryptedDataKey` (B-ZN-12).
        case zoneNotFound = 26
        /// The request is too large: send the halves (B-LIM-01, B-LIM-02).
        case limitExceeded = 27
        /// The user purged the zone: ask before creating it again (B-ZN-10).
        case userDeletedZone = 28
        /// A share has at most 100 participants (B-LIM-08).
        case tooManyParticipants = 29
        /// The record is part of another share.
        case alreadyShared = 30
        /// The parent is missing, or still has children (B-REF-03, B-REF-05).
        case referenceViolation = 31
        /// The account's administrator barred this (B-ACC-08).
        case managedAccountRestricted = 32
        /// The user has to confirm who they are before joining the share.
        case participantMayNeedVerification = 33
        /// The outcome is unknown; the same request may be sent again (B-THR-07).
        case serverResponseLost = 34
        /// The server no longer has the file (B-AST-05).
        case assetNotAvailable = 35
        /// The account cannot be used at the moment.
        case accountTemporarilyUnavailable = 36
        /// The person has an invitation already.
        case participantAlreadyInvited = 37
    }

    /// An error inside the framework or server.
    public static var internalError: Code { .internalError }
    /// Some items of the operation failed; `partialErrorsByItemID` says which.
    public static var partialFailure: Code { .partialFailure }
    /// The network is not available.
    public static var networkUnavailable: Code { .networkUnavailable }
    /// The network failed during the request.
    public static var networkFailure: Code { .networkFailure }
    /// The container is unknown or must not be used.
    public static var badContainer: Code { .badContainer }
    /// The service is not available at the moment.
    public static var serviceUnavailable: Code { .serviceUnavailable }
    /// The client sends too many requests; `retryAfterSeconds` says when to repeat.
    public static var requestRateLimited: Code { .requestRateLimited }
    /// The app lacks the entitlement for the container.
    public static var missingEntitlement: Code { .missingEntitlement }
    /// No user is signed in.
    public static var notAuthenticated: Code { .notAuthenticated }
    /// The user may not do this.
    public static var permissionFailure: Code { .permissionFailure }
    /// The item does not exist.
    public static var unknownItem: Code { .unknownItem }
    /// The request is malformed.
    public static var invalidArguments: Code { .invalidArguments }
    /// The server returned only a part of the results.
    @available(*, deprecated)
    public static var resultsTruncated: Code { .resultsTruncated }
    /// The record changed on the server since it was fetched.
    public static var serverRecordChanged: Code { .serverRecordChanged }
    /// The server rejects the request.
    public static var serverRejectedRequest: Code { .serverRejectedRequest }
    /// The file of an asset does not exist.
    public static var assetFileNotFound: Code { .assetFileNotFound }
    /// The file of an asset changed while it was saved.
    public static var assetFileModified: Code { .assetFileModified }
    /// The version of the app is too old.
    public static var incompatibleVersion: Code { .incompatibleVersion }
    /// A unique value is already in use.
    public static var constraintViolation: Code { .constraintViolation }
    /// The operation was cancelled.
    public static var operationCancelled: Code { .operationCancelled }
    /// The change token is too old; fetch again from the beginning.
    public static var changeTokenExpired: Code { .changeTokenExpired }
    /// Another item of the atomic batch failed.
    public static var batchRequestFailed: Code { .batchRequestFailed }
    /// The zone is too busy; repeat after a pause.
    public static var zoneBusy: Code { .zoneBusy }
    /// The operation is not possible in this database.
    public static var badDatabase: Code { .badDatabase }
    /// The user’s storage is full.
    public static var quotaExceeded: Code { .quotaExceeded }
    /// The zone does not exist.
    public static var zoneNotFound: Code { .zoneNotFound }
    /// The request is too large; split it.
    public static var limitExceeded: Code { .limitExceeded }
    /// The user deleted the zone’s data in the system’s settings.
    public static var userDeletedZone: Code { .userDeletedZone }
    /// The share has too many participants.
    public static var tooManyParticipants: Code { .tooManyParticipants }
    /// The record or its tree belongs to a share already.
    public static var alreadyShared: Code { .alreadyShared }
    /// The target of a reference does not exist.
    public static var referenceViolation: Code { .referenceViolation }
    /// The account is managed and may not do this.
    public static var managedAccountRestricted: Code { .managedAccountRestricted }
    /// The user must prove an address before accepting the share.
    public static var participantMayNeedVerification: Code { .participantMayNeedVerification }
    /// The connection ended before the answer arrived; the request may have taken effect.
    public static var serverResponseLost: Code { .serverResponseLost }
    /// The file of the asset cannot be fetched.
    public static var assetNotAvailable: Code { .assetNotAvailable }
    /// The account needs attention before private data is available.
    public static var accountTemporarilyUnavailable: Code { .accountTemporarilyUnavailable }
    /// The user takes part in the share already.
    public static var participantAlreadyInvited: Code { .participantAlreadyInvited }

    // MARK: Bridging

    /// The bridged type.
    public typealias _ObjectiveCType = NSError

    /// Returns the bridged error.
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    /// Creates the error from its bridged form.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) {
        result = CKError(_nsError: source)
    }

    /// Creates the error from its bridged form.
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) -> Bool {
        guard source.domain == CKErrorDomain else { return false }
        result = CKError(_nsError: source)
        return true
    }

    /// Creates the error from its bridged form.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CKError {
        // The compiler calls this for values that it knows to be there.
        CKError(_nsError: source ?? NSError(domain: CKErrorDomain, code: Code.internalError.rawValue))
    }
}

extension CKError.Code {
    /// Matches errors in `catch CKError.zoneNotFound` and the like.
    public static func ~= (code: CKError.Code, error: any Error) -> Bool {
        (error as? CKError)?.code == code
    }
}

extension CKError {
    /// The error of each item, by the item's ID: records, zones, subscriptions… (B-BAT-03).
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
        _nsError.userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
    }

    /// Seconds after which a retry makes sense (B-THR-04).
    public var retryAfterSeconds: Double? {
        (_nsError.userInfo[CKErrorRetryAfterKey] as? NSNumber)?.doubleValue
    }
}
