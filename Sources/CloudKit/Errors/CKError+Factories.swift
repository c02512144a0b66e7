import CloudKitClient
import CloudKitDevice
import CloudKitModel
import Foundation

extension CKError {
    /// The key in `userInfo` of the server's own text (B-ERR-21).
    static let serverDescriptionKey = "ServerErrorDescription"
    /// In `userInfo`: the whole description (B-ERR-21).
    static let descriptionKey = "CKErrorDescription"
    /// In `userInfo`: the identifier of the request, by which the operator of the cloud finds it in the log (B-ERR-21).
    static let requestUUIDKey = "RequestUUID"
    /// In `userInfo`: the time of the state to which the cloud was restored, in milliseconds since 1970; 0 if it is not known (B-BKD-13).
    /// With `changeTokenExpired`, and with `internalError` of a record that is older in the restored cloud (B-TM-15).
    static let restoredToKey = "WelkinRestoredTo"
    /// The domain of the underlying error, whose code is the server's sub-code (docs/rules/ERR.md).
    static let internalErrorDomain = "CKInternalErrorDomain"

    /// Creates an error with its texts.
    ///
    /// - Parameters:
    ///   - reason: A fixed sentence without field values.
    ///   - description: The sentence with the operation that failed, where that adds something.
    static func failure(
        _ code: Code, reason: String, description: String? = nil, subcode: Int? = nil, remedy: String? = nil,
        retryAfter: Double? = nil, details: [String: Any] = [:]
    ) -> CKError {
        let text = description ?? reason
        var userInfo = details
        userInfo[NSLocalizedDescriptionKey] = text
        userInfo[descriptionKey] = text
        userInfo[NSLocalizedRecoverySuggestionErrorKey] = remedy
        userInfo[CKErrorRetryAfterKey] = retryAfter.map { NSNumber(value: $0) }
        if let subcode {
            userInfo[NSDebugDescriptionErrorKey] = "\(internalErrorDomain): \(subcode)"
            var underlying: [String: Any] = [NSLocalizedDescriptionKey: reason]
            underlying[serverDescriptionKey] = details[serverDescriptionKey]
            userInfo[NSUnderlyingErrorKey] = NSError(domain: internalErrorDomain, code: subcode, userInfo: underlying)
        }
        return CKError(code, userInfo: userInfo)
    }

    /// Creates the error for a request that no user can make.
    static func invalidArguments(_ reason: String) -> CKError {
        failure(.invalidArguments, reason: reason)
    }

    /// Some items failed (B-BAT-03).
    ///
    /// - Parameter operation: A phrase for the error's text: "modify some records", "fetch some record zones"…
    static func partialFailure(_ errors: [AnyHashable: any Error], operation: String = "modify some records") -> CKError
    {
        failure(
            .partialFailure, reason: "Failed to \(operation)", subcode: 1011,
            details: [CKPartialErrorsByItemIDKey: errors])
    }

    /// The operation on an item that failed; it begins the description (B-ERR-21).
    enum FailedOperation {
        case savingRecord(CKRecordID)
        case fetchingRecord(CKRecordID)
        case deletingRecord(CKRecordID)
        case savingZone(CKRecordZoneID)
        case fetchingZone(CKRecordZoneID)
        case deletingZone(CKRecordZoneID)
        case savingSubscription(String)
        case fetchingSubscription(String)
        case deletingSubscription(String)
        case other

        func describe(_ reason: String) -> String {
            switch self {
            case .savingRecord(let id): "Error saving record \(id) to server: \(reason)"
            case .fetchingRecord(let id): "Error fetching record \(id) from server: \(reason)"
            case .deletingRecord(let id): "Error deleting record \(id) from server: \(reason)"
            case .savingZone(let id): "Error saving record zone \(id) to server: \(reason)"
            case .fetchingZone(let id): "Error fetching record zone \(id) from server: \(reason)"
            case .deletingZone(let id): "Error deleting record zone \(id) from server: \(reason)"
            case .savingSubscription(let id): "Error saving record subscription \(id) to server: \(reason)"
            case .fetchingSubscription(let id): "Error fetching subscription \(id) from server: \(reason)"
            case .deletingSubscription(let id): "Error deleting subscription \(id) from server: \(reason)"
            case .other: reason
            }
        }
    }

    /// The server's refusal as the app sees it.
    init(_ failure: RequestFailure, operation: FailedOperation = .other, details: [String: Any] = [:]) {
        let (code, subcode) = failure.code.native
        var details = details
        details[Self.serverDescriptionKey] = failure.reason
        details[Self.requestUUIDKey] = failure.requestID
        details[Self.restoredToKey] = failure.restoredTo.map { NSNumber(value: $0) }
        if failure.code == .zoneKeysReset {
            details[CKErrorUserDidResetEncryptedDataKey] = NSNumber(value: true)
        }
        self = Self.failure(
            // Every native code is one of the 37; a test goes through all.
            Code(rawValue: code) ?? .internalError, reason: failure.reason,
            description: operation.describe(failure.reason),
            subcode: subcode, remedy: failure.remedy, retryAfter: failure.retryAfter, details: details)
    }

    /// The time of the state to which the cloud was restored, in milliseconds since 1970, 0 if it is not known; nil: it was not restored.
    var restoredTo: Int64? { (_nsError.userInfo[Self.restoredToKey] as? NSNumber)?.int64Value }

    /// A Boolean value that indicates whether the cloud says that it was restored, and has lost the version of a record that this device has seen.
    var isOfLostVersion: Bool { code == .internalError && restoredTo != nil }

    /// Creates the error for a file of this device that could not be read or written.
    static func ofDevice(_ failure: FileFailure, reason: String, remedy: String) -> CKError {
        .failure(
            .internalError, reason: reason, remedy: remedy,
            details: [NSUnderlyingErrorKey: NSError(domain: NSPOSIXErrorDomain, code: Int(failure.code))])
    }

    /// A Boolean value that indicates whether a file of this device could not be read or written, for instance on a full disk.
    var isOfDevice: Bool {
        code == .internalError && (_nsError.userInfo[NSUnderlyingErrorKey] as? NSError)?.domain == NSPOSIXErrorDomain
    }

    /// The server's sub-code (docs/rules/ERR.md); nil where there is none.
    var subcode: Int? {
        (_nsError.userInfo[NSUnderlyingErrorKey] as? NSError).flatMap {
            $0.domain == Self.internalErrorDomain ? $0.code : nil
        }
    }
}
