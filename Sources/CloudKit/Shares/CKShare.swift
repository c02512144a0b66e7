import CloudKitModel
import Foundation
import Synchronization

/// A share: the record that defines with which users the tree below a root record, or a whole zone, is shared (B-SHR).
///
/// Saved like any other record, the first time together with its root in one operation (B-SHR-03). Violations of a rule
/// of sharing for which Apple's framework raises an exception, such as removing a user who is not a participant, are
/// reported when the share is saved.
// Restates what `CKRecord` declares; the state that a share adds is in a Mutex.
open class CKShare: CKRecord, @unchecked Sendable {
    private let sharingContent: Mutex<SharingState>

    /// A share of the record and everything below it.
    public convenience init(rootRecord: CKRecord) {
        let id = CKRecord.ID(recordName: "Share-" + UUID().uuidString, zoneID: rootRecord.recordID.zoneID)
        self.init(rootRecord: rootRecord, shareID: id)
    }

    /// A share of the record and everything below it; also sets the record's ``CKRecord/share`` (B-SHR-04).
    ///
    /// - Parameters:
    ///   - rootRecord: The record at the top of the shared tree.
    ///   - shareID: In the root's zone, which has to be a custom one of the private database (B-SHR-02).
    public init(rootRecord: CKRecord, shareID: CKRecord.ID) {
        sharingContent = Mutex(SharingState(root: rootRecord.recordID.recordName))
        super.init(recordType: CKRecord.SystemType.share, recordID: shareID)
        rootRecord.content.revise { $0.system.share = CKRecord.Reference(recordID: shareID, action: .none) }
    }

    /// Creates a share of every record of a custom zone, present and future; never together with shares of single
    /// records (B-SHR-06).
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

    /// The access of users who only have the link. Default: `none`, only invited users take part (B-PRT-02).
    ///
    /// Opening a share removes invitations that were not accepted; closing it removes all participants who joined
    /// through the link (B-PRT-04).
    open var publicPermission: ParticipantPermission {
        get { ParticipantPermission(rawValue: sharing.publicPermission.rawValue) ?? .unknown }
        set {
            let permission = CloudKitModel.ParticipantPermission(rawValue: newValue.rawValue) ?? .none
            revise { $0.publicPermission = permission }
        }
    }

    /// The participants that the user may see: at least the owner and the user (B-PRT-08).
    ///
    /// The share's own objects: what is set on them is saved with the share.
    open var participants: [Participant] { sharing.participants }

    /// The participant who owns the share: the object that ``participants`` has.
    open var owner: Participant {
        let unknown = ShareParticipant(id: "", role: .owner, permission: .readWrite, acceptance: .accepted)
        return sharing.owner ?? Participant(unknown)
    }

    /// The user's own participation: the object that ``participants`` has; nil for a user who does not take part yet.
    open var currentUserParticipant: Participant? { sharing.current }

    /// Invites a participant when the share is saved; an existing participant is changed instead (B-PRT-06).
    ///
    /// Only while ``publicPermission`` is `none` (B-PRT-03). Up to 100 (B-LIM-08).
    open func addParticipant(_ participant: Participant) { revise { $0.add(participant) } }

    /// Removes a participant's access when the share is saved, and begins new keys (B-TM-05).
    open func removeParticipant(_ participant: Participant) { revise { $0.remove(participant) } }

    // MARK: Links

    /// The URL of the share, after the first save; stable for its root (B-SHR-07).
    ///
    /// The URL of a public share carries, after the `#`, the secret that opens encrypted values, on devices that know
    /// it (B-TM-07); the same whenever the root is shared. One that was taken while ``publicPermission`` was `none` does not: users who join by it
    /// later are participants who can open nothing before they accept the present URL.
    open var url: URL? { sharing.link?.url }

    /// Returns the link of a participant made by ``CKShareParticipant/oneTimeURLParticipant()``, after the share was
    /// saved; once a user has opened it, the share's own URL (B-SHN-01).
    open func oneTimeURL(for participantID: Participant.ID) -> URL? {
        guard let content = sharing.participants.first(where: { $0.participantID == participantID })?.content else {
            return nil
        }
        return content.oneTimeLink.flatMap { URL(string: $0) } ?? (content.isOneTime ? nil : url)
    }

    // MARK: Requests

    /// A Boolean value that indicates whether users who have the link may ask for access; otherwise a request does not
    /// reveal that the share exists (B-SHN-02).
    open var allowsAccessRequests: Bool {
        get { sharing.allowsAccessRequests }
        set { revise { $0.allowsAccessRequests = newValue } }
    }

    /// The users who asked for access; for owner and administrators. Adding one as a participant grants access.
    open var requesters: [AccessRequester] { sharing.requesters.map { AccessRequester($0) } }

    /// The users who may not ask for access; for owner and administrators.
    open var blockedIdentities: [BlockedIdentity] { sharing.blocked.map { BlockedIdentity($0) } }

    /// Sends requesters away when the share is saved; they may ask again.
    open func denyRequesters(_ requesters: [AccessRequester]) { revise { $0.deny(requesters.map(\.person)) } }

    /// Blocks requesters permanently when the share is saved, and removes those who take part.
    open func blockRequesters(_ requesters: [AccessRequester]) { revise { $0.block(requesters.map(\.person)) } }

    /// Lets blocked users ask again.
    open func unblockIdentities(_ blockedIdentities: [BlockedIdentity]) {
        revise { $0.unblock(blockedIdentities.map(\.person)) }
    }

    // MARK: As a record

    /// Returns a copy of the share, which can be changed independently.
    open override func copy(with zone: NSZone? = nil) -> Any { CKShare(state: state, sharing: sharing.copy) }

    override func ancestor(_ state: RecordState) -> CKRecord { CKShare(state: state, sharing: sharing.ancestor) }

    // MARK: Archiving

    private static let archiveKey = "CloudKitShareArchive"

    /// An archive that cannot be read gives an empty share of no zone, which cannot be saved, because Apple's form of this
    /// initialiser cannot fail; where unarchiving reports errors, it is an error as well.
    public required init(coder aDecoder: NSCoder) {
        let state = RecordArchive.state(in: aDecoder)
        let content = Archive.decode(SharingState.Content.self, from: aDecoder, key: Self.archiveKey)
        if let state, let content {
            sharingContent = Mutex(SharingState(content))
            super.init(state: state)
        } else if let (state, content) = ArchivedObject(aDecoder)?.share {
            sharingContent = Mutex(SharingState(content))
            super.init(state: state)
        } else {
            Archive.fail(aDecoder)
            sharingContent = Mutex(SharingState(root: nil))
            super.init(recordType: CKRecord.SystemType.share, recordID: CKRecord.ID())
        }
    }

    /// Archives the record with its participants and permissions.
    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        Archive.encode(sharing.archived, into: coder, key: Self.archiveKey)
    }

    /// Archives the participants and permissions as well: they are part of the server's metadata.
    open override func encodeSystemFields(with coder: NSCoder) {
        super.encodeSystemFields(with: coder)
        Archive.encode(sharing.archived, into: coder, key: Self.archiveKey)
    }
}
