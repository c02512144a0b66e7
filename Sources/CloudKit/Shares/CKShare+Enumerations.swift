// Constants carry the names that published code spells.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

extension CKShare {
    /// The access of a participant to the shared records (B-PRT-01).
    public enum ParticipantPermission: Int, Sendable {
        case unknown = 0
        case none = 1
        case readOnly = 2
        case readWrite = 3
    }

    /// The role of a user in a share (B-PRT-01).
    public enum ParticipantRole: Int, Sendable {
        case unknown = 0
        case owner = 1
        /// Looks after participants and permissions as the owner does (B-PRT-07).
        case administrator = 2
        /// A user who was invited.
        case privateUser = 3
        /// A user who joined through the link (B-PRT-02).
        case publicUser = 4
    }

    /// The state of an invitation.
    public enum ParticipantAcceptanceStatus: Int, Sendable {
        case unknown = 0
        case pending = 1
        case accepted = 2
        case removed = 3
    }

    /// The earlier form of `ParticipantRole`.
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public enum ParticipantType: Int, Sendable {
        case unknown = 0
        case owner = 1
        case privateUser = 3
        case publicUser = 4
    }

    /// The names of the fields by which a share introduces itself.
    public enum SystemFieldKey {
        /// A string.
        public static let title: CKRecord.FieldKey = "cloudkit.title"
        /// Data of an image.
        public static let thumbnailImageData: CKRecord.FieldKey = "cloudkit.thumbnailImageData"
        /// A string: a uniform type identifier.
        public static let shareType: CKRecord.FieldKey = "cloudkit.type"
    }
}

extension CKShareParticipant {
    /// The state of a participant’s invitation.
    @available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
    public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
    /// The permission of a participant.
    @available(*, deprecated, renamed: "CKShare.ParticipantPermission")
    public typealias Permission = CKShare.ParticipantPermission
    /// The role of a participant.
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public typealias Role = CKShare.ParticipantRole
    /// The former name of the role of a participant.
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public typealias ParticipantType = CKShare.ParticipantType
}

/// A former name.
@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
/// A former name.
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShare_Participant_ParticipantType = CKShare.ParticipantType
/// A former name.
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission
/// A former name.
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShare_Participant_Role = CKShare.ParticipantRole

/// A former name.
@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShareParticipantAcceptanceStatus = CKShare.ParticipantAcceptanceStatus
/// A former name.
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShareParticipantPermission = CKShare.ParticipantPermission
/// A former name.
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShareParticipantRole = CKShare.ParticipantRole
/// A former name.
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShareParticipantType = CKShare.ParticipantType

// Names of Swift 4.1 and earlier, which talks and older code use.

/// The former name of `CKShare.SystemFieldKey.title`.
@available(*, deprecated, renamed: "CKShare.SystemFieldKey.title")
public let CKShareTitleKey = "cloudkit.title"
/// The former name of `CKShare.SystemFieldKey.thumbnailImageData`.
@available(*, deprecated, renamed: "CKShare.SystemFieldKey.thumbnailImageData")
public let CKShareThumbnailImageDataKey = "cloudkit.thumbnailImageData"
/// The former name of `CKShare.SystemFieldKey.shareType`.
@available(*, deprecated, renamed: "CKShare.SystemFieldKey.shareType")
public let CKShareTypeKey = "cloudkit.type"
