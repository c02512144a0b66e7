import CloudKitModel
import Foundation
import Synchronization

extension CKShare {
    /// A participant of a share.
    public typealias Participant = CKShareParticipant
}

/// A user who takes part in a share, or is invited to (B-PRT).
///
/// Apps write `CKShare.Participant`; the class is at top level because a nested one cannot be archived. New ones come
/// from ``CKContainer/shareParticipant(forEmailAddress:)`` and its variants. Changes to a participant take effect when
/// its share is saved.
public final class CKShareParticipant: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The identifier of a participant.
    public typealias ID = String

    struct Content: Encodable, ArchivedContent, Hashable, Sendable {
        var participant: ShareParticipant
        /// A Boolean value that indicates whether the participant is a slot for the first user who opens its link.
        var isOneTime = false
        /// The link of such a slot.
        var oneTimeLink: String?
    }

    private let state: Mutex<Content>

    init(_ content: Content) {
        state = Mutex(content)
        super.init()
    }

    convenience init(_ participant: ShareParticipant) { self.init(Content(participant: participant)) }

    var content: Content { state.withLock { $0 } }

    /// A participant without an identity: after the share was saved, ``CKShare/oneTimeURL(for:)`` gives a link, and who opens it
    /// first takes the slot (B-SHN-01).
    public class func oneTimeURLParticipant() -> CKShareParticipant {
        let participant = ShareParticipant(
            id: UUID().uuidString, role: .privateUser, permission: .readOnly, acceptance: .pending)
        return CKShareParticipant(Content(participant: participant, isOneTime: true))
    }

    /// Stable for the life of the share.
    public var participantID: ID { content.participant.id }

    /// The identity of the user, as far as the caller may know it.
    public var userIdentity: CKUserIdentity { CKUserIdentity(content.participant.identity) }

    /// The state of the participant’s invitation.
    public var acceptanceStatus: CKShare.ParticipantAcceptanceStatus {
        CKShare.ParticipantAcceptanceStatus(rawValue: content.participant.acceptance.rawValue) ?? .unknown
    }

    /// `privateUser` at first; owner and administrators may make others administrators, and the other way round.
    public var role: CKShare.ParticipantRole {
        get { CKShare.ParticipantRole(rawValue: content.participant.role.rawValue) ?? .unknown }
        set { state.withLock { $0.participant.role = ParticipantRole(rawValue: newValue.rawValue) ?? .unknown } }
    }

    /// `readOnly` at first (B-PRT-06).
    public var permission: CKShare.ParticipantPermission {
        get { CKShare.ParticipantPermission(rawValue: content.participant.permission.rawValue) ?? .unknown }
        set {
            state.withLock {
                $0.participant.permission = ParticipantPermission(rawValue: newValue.rawValue) ?? .unknown
            }
        }
    }

    /// The earlier form of `role`.
    @available(*, deprecated, renamed: "role")
    public var type: CKShare.ParticipantType {
        get { CKShare.ParticipantType(rawValue: role.rawValue) ?? .unknown }
        set { role = CKShare.ParticipantRole(rawValue: newValue.rawValue) ?? .unknown }
    }

    /// A Boolean value that indicates whether the user had asked for access (B-SHN-03).
    public var isApprovedRequester: Bool { content.participant.isApprovedRequester }

    /// nil for who is not on a saved share yet.
    public var dateAddedToShare: Date? {
        content.participant.added.map { Date(timeIntervalSince1970: Double($0) / 1000) }
    }

    /// Returns a separate participant: changes to a copy do not affect the original.
    public func copy(with zone: NSZone? = nil) -> Any { CKShareParticipant(content) }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKShareParticipant)?.participantID == participantID
    }

    /// The hash value of the contents.
    public override var hash: Int { participantID.hashValue }

    /// Ids and words, never names or addresses: those do not belong into logs.
    public override var description: String {
        "<CKShareParticipant: \(addressText(of: self)); participantID=\(participantID), role=\(role), "
            + "permission=\(permission), acceptanceStatus=\(acceptanceStatus)>"
    }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public convenience init?(coder: NSCoder) {
        guard let content = Archive.content(Content.self, from: coder) else { return nil }
        self.init(content)
    }

    /// Writes the object into an archive.
    public func encode(with coder: NSCoder) {
        Archive.encode(content, into: coder)
    }
}

extension CKUserIdentity {
    /// A person as shares name them.
    convenience init(_ person: PersonIdentity) {
        var name: PersonNameComponents?
        if person.givenName != nil || person.familyName != nil {
            name = PersonNameComponents()
            name?.givenName = person.givenName
            name?.familyName = person.familyName
        }
        self.init(
            userRecordID: person.user.flatMap { $0.recordName.isEmpty ? nil : CKRecordID(recordName: $0.recordName) },
            lookupInfo: person.lookup.flatMap { CKUserIdentityLookupInfo($0) }, nameComponents: name,
            hasiCloudAccount: person.hasAccount)
    }
}

extension CKUserIdentityLookupInfo {
    convenience init?(_ info: LookupInfo) {
        if let email = info.emailAddress {
            self.init(emailAddress: email)
        } else if let phone = info.phoneNumber {
            self.init(phoneNumber: phone)
        } else if let user = info.user, !user.recordName.isEmpty {
            self.init(userRecordID: CKRecordID(recordName: user.recordName))
        } else {
            return nil
        }
    }

    /// The look-up as a Model value.
    var model: LookupInfo {
        LookupInfo(
            emailAddress: emailAddress, phoneNumber: phoneNumber, user: userRecordID.map { UserID($0.recordName) })
    }
}
