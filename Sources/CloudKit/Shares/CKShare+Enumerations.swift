// Constants carry the names that published code spells.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

extension CKShare {
    /// What a participant may do with what is shared (B-PRT-01).
    public enum ParticipantPermission: Int, Sendable {
        case unknown = 0
        case none = 1
        case readOnly = 2
        case readWrite = 3
    }

    /// What somebody is to a share (B-PRT-01).
    public enum ParticipantRole: Int, Sendable {
        case unknown = 0
        case owner = 1
        /// Looks after participants and permissions as the owner does (B-PRT-07).
        case administrator = 2
        /// Somebody who was invited.
        case privateUser = 3
        /// Somebody who came by the link (B-PRT-02).
        case publicUser = 4
    }

    /// How far an invitation has come.
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
    @available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
    public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
    @available(*, deprecated, renamed: "CKShare.ParticipantPermission")
    public typealias Permission = CKShare.ParticipantPermission
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public typealias Role = CKShare.ParticipantRole
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public typealias ParticipantType = CKShare.ParticipantType
}

@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShare_Participant_ParticipantType = CKShare.ParticipantType
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShare_Participant_Role = CKShare.ParticipantRole

// Names of Swift 4.1 and earlier: whoever still writes one is told today's.

@available(swift, obsoleted: 4.2, renamed: "CKShare.SystemFieldKey.title")
public let CKShareTitleKey = "cloudkit.title"
@available(swift, obsoleted: 4.2, renamed: "CKShare.SystemFieldKey.thumbnailImageData")
public let CKShareThumbnailImageDataKey = "cloudkit.thumbnailImageData"
@available(swift, obsoleted: 4.2, renamed: "CKShare.SystemFieldKey.shareType")
public let CKShareTypeKey = "cloudkit.type"
