import CloudKitModel
import Foundation
import Synchronization

extension CKShare {
    public typealias Participant = CKShareParticipant
}

/// Somebody who takes part in a share, or is invited to (B-PRT).
///
/// Apps write `CKShare.Participant`; the class stands at top level because a nested one cannot be archived. New ones come from
/// ``CKContainer/shareParticipant(forEmailAddress:)`` and its relatives. What is set on a participant takes effect when its share is
/// saved.
public final class CKShareParticipant: NSObject, NSCopying, NSSecureCoding, Sendable {
    public typealias ID = String

    struct Content: Codable, Hashable, Sendable {
        var participant: ShareParticipant
        /// A slot for whoever opens its link first.
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

    /// The person, as far as the caller may know.
    public var userIdentity: CKUserIdentity { CKUserIdentity(content.participant.identity) }

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

    /// Whether the person had asked to be let in (B-SHN-03).
    public var isApprovedRequester: Bool { content.participant.isApprovedRequester }

    /// nil for who is not on a saved share yet.
    public var dateAddedToShare: Date? {
        content.participant.added.map { Date(timeIntervalSince1970: Double($0) / 1000) }
    }

    /// A participant of its own: changes to a copy leave the original alone.
    public func copy(with zone: NSZone? = nil) -> Any { CKShareParticipant(content) }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKShareParticipant)?.participantID == participantID
    }

    public override var hash: Int { participantID.hashValue }

    /// Ids and words, never names or addresses: those do not belong into logs.
    public override var description: String {
        "<CKShareParticipant: \(addressText(of: self)); participantID=\(participantID), role=\(role), "
            + "permission=\(permission), acceptanceStatus=\(acceptanceStatus)>"
    }

    // MARK: Archiving

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        guard let content = Archive.decode(Content.self, from: coder) else { return nil }
        self.init(content)
    }

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

    /// As the other rooms write it.
    var model: LookupInfo {
        LookupInfo(
            emailAddress: emailAddress, phoneNumber: phoneNumber, user: userRecordID.map { UserID($0.recordName) })
    }
}
