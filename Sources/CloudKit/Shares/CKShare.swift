import CloudKitModel
import Foundation
import Synchronization

/// A share: the record that says with whom the tree below a root record, or a whole zone, is shared (B-SHR).
///
/// Saved like any other record, the first time together with its root in one operation (B-SHR-03). What breaks a rule of sharing and
/// Apple's framework answers with an exception, as removing somebody who is not on the share, is told when the share is saved.
// Restates what `CKRecord` declares; what a share adds sits in a Mutex.
open class CKShare: CKRecord, @unchecked Sendable {
    private let sharingContent: Mutex<SharingState>

    /// A share of the record and everything below it.
    public convenience init(rootRecord: CKRecord) {
        let id = CKRecord.ID(recordName: "Share-" + UUID().uuidString, zoneID: rootRecord.recordID.zoneID)
        self.init(rootRecord: rootRecord, shareID: id)
    }

    /// A share of the record and everything below it; also sets the record's ``CKRecord/share`` (B-SHR-04).
    ///
    /// - Parameter shareID: In the root's zone, which has to be a custom one of the private database (B-SHR-02).
    public init(rootRecord: CKRecord, shareID: CKRecord.ID) {
        sharingContent = Mutex(SharingState(root: rootRecord.recordID.recordName))
        super.init(recordType: CKRecord.SystemType.share, recordID: shareID)
        rootRecord.content.revise { $0.system.share = CKRecord.Reference(recordID: shareID, action: .none) }
    }

    /// A share of every record of a custom zone, present and future; never beside shares of single records (B-SHR-06).
    public init(recordZoneID: CKRecordZone.ID) {
        sharingContent = Mutex(SharingState(root: nil))
        super.init(
            recordType: CKRecord.SystemType.share,
            recordID: CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: recordZoneID))
    }

    init(state: RecordState, sharing: SharingState) {
        sharingContent = Mutex(sharing)
        super.init(state: state)
    }

    var sharing: SharingState { sharingContent.withLock { $0 } }

    func revise(_ change: (inout SharingState) -> Void) {
        sharingContent.withLock { change(&$0) }
    }

    // MARK: People

    /// What somebody may do who has nothing but the link. Default: `none`, only those invited take part (B-PRT-02).
    ///
    /// Opening a share drops invitations that nobody accepted; closing it drops everybody who came by the link (B-PRT-04).
    open var publicPermission: ParticipantPermission {
        get { ParticipantPermission(rawValue: sharing.publicPermission.rawValue) ?? .unknown }
        set {
            let permission = CloudKitModel.ParticipantPermission(rawValue: newValue.rawValue) ?? .none
            revise { $0.publicPermission = permission }
        }
    }

    /// Everybody whom the user may see: at least the owner and the user (B-PRT-08).
    open var participants: [Participant] { sharing.participants }

    open var owner: Participant {
        let owner = sharing.owner?.content.participant
        let unknown = ShareParticipant(id: "", role: .owner, permission: .readWrite, acceptance: .accepted)
        return Participant(owner ?? unknown)
    }

    /// The user's own participation; nil for somebody who does not take part yet.
    open var currentUserParticipant: Participant? { sharing.current.map { Participant($0.content) } }

    /// Invites somebody when the share is saved; who is there already is changed instead (B-PRT-06).
    ///
    /// Only while ``publicPermission`` is `none` (B-PRT-03). Up to 100 (B-LIM-08).
    open func addParticipant(_ participant: Participant) { revise { $0.add(participant) } }

    /// Takes somebody's access away when the share is saved, and begins new keys (B-TM-05).
    open func removeParticipant(_ participant: Participant) { revise { $0.remove(participant) } }

    // MARK: Links

    /// The share's address, after the first save; stable for its root (B-SHR-07).
    ///
    /// Of a share that is open to everybody it carries, behind the `#`, the secret that opens what is encrypted, on devices that
    /// know it (B-TM-07).
    open var url: URL? { sharing.link?.url }

    /// The link of a participant made by ``CKShareParticipant/oneTimeURLParticipant()``, after the share was saved; once
    /// somebody used it, the share's own (B-SHN-01).
    open func oneTimeURL(for participantID: Participant.ID) -> URL? {
        guard let content = sharing.participants.first(where: { $0.participantID == participantID })?.content else {
            return nil
        }
        return content.oneTimeLink.flatMap { URL(string: $0) } ?? (content.isOneTime ? nil : url)
    }

    // MARK: Requests

    /// Whether strangers who have the link may ask to be let in; else nobody learns from asking that there is a share (B-SHN-02).
    open var allowsAccessRequests: Bool {
        get { sharing.allowsAccessRequests }
        set { revise { $0.allowsAccessRequests = newValue } }
    }

    /// Who asked; for owner and administrators. Adding somebody as a participant lets them in.
    open var requesters: [AccessRequester] { sharing.requesters.map { AccessRequester($0) } }

    /// Who may not ask; for owner and administrators.
    open var blockedIdentities: [BlockedIdentity] { sharing.blocked.map { BlockedIdentity($0) } }

    /// Sends requesters away when the share is saved; they may ask again.
    open func denyRequesters(_ requesters: [AccessRequester]) { revise { $0.deny(requesters.map(\.person)) } }

    /// Sends requesters away for good when the share is saved, and removes those who take part.
    open func blockRequesters(_ requesters: [AccessRequester]) { revise { $0.block(requesters.map(\.person)) } }

    /// Lets people ask again.
    open func unblockIdentities(_ blockedIdentities: [BlockedIdentity]) {
        revise { $0.unblock(blockedIdentities.map(\.person)) }
    }

    // MARK: As a record

    open override func copy(with zone: NSZone? = nil) -> Any { CKShare(state: state, sharing: sharing.copy) }

    override func ancestor(_ state: RecordState) -> CKRecord { CKShare(state: state, sharing: sharing.ancestor) }

    // MARK: Archiving

    private static let archiveKey = "CloudKitShareArchive"

    /// An archive that cannot be read gives an empty share of no zone, which cannot be saved; Apple's form of this
    /// initialiser has no way to say so.
    public required init(coder aDecoder: NSCoder) {
        let state = RecordArchive.state(in: aDecoder)
        let content = Archive.decode(SharingState.Content.self, from: aDecoder, key: Self.archiveKey)
        if let state, let content {
            sharingContent = Mutex(SharingState(content))
            super.init(state: state)
        } else {
            sharingContent = Mutex(SharingState(root: nil))
            super.init(recordType: CKRecord.SystemType.share, recordID: CKRecord.ID())
        }
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        Archive.encode(sharing.archived, into: coder, key: Self.archiveKey)
    }

    /// Participants and permissions are among what is archived: the server notes them.
    open override func encodeSystemFields(with coder: NSCoder) {
        super.encodeSystemFields(with: coder)
        Archive.encode(sharing.archived, into: coder, key: Self.archiveKey)
    }
}
