// Constants carry the names that published code spells.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CloudKit
import Foundation

/// The smallest code of errors of a sharing service, in `NSCocoaErrorDomain`.
public var NSCloudSharingErrorMinimum: Int { 5120 }
/// The largest code of errors of a sharing service.
public var NSCloudSharingErrorMaximum: Int { 5375 }
/// The cloud could not be reached.
public var NSCloudSharingNetworkFailureError: Int { 5120 }
/// The user's storage is full.
public var NSCloudSharingQuotaExceededError: Int { 5121 }
/// The share has too many participants.
public var NSCloudSharingTooManyParticipantsError: Int { 5122 }
/// Others kept changing the share.
public var NSCloudSharingConflictError: Int { 5123 }
/// The user may not change the share.
public var NSCloudSharingNoPermissionError: Int { 5124 }
/// Every other error; the error below it says which.
public var NSCloudSharingOtherError: Int { 5375 }

extension CocoaError {
    /// The error of a sharing service, with the one of the framework in `NSUnderlyingErrorKey`.
    init(cloudSharing error: any Error) {
        let code =
            switch (error as? CKError)?.code {
            case .networkUnavailable, .networkFailure, .serviceUnavailable, .serverResponseLost:
                NSCloudSharingNetworkFailureError
            case .quotaExceeded: NSCloudSharingQuotaExceededError
            case .tooManyParticipants: NSCloudSharingTooManyParticipantsError
            case .serverRecordChanged: NSCloudSharingConflictError
            case .permissionFailure, .managedAccountRestricted: NSCloudSharingNoPermissionError
            default: NSCloudSharingOtherError
            }
        self.init(
            Code(rawValue: code),
            userInfo: [NSLocalizedDescriptionKey: error.localizedDescription, NSUnderlyingErrorKey: error])
    }
}
