import CloudKitClient
import CloudKitModel
import Foundation
import TextEncodings

/// The content of a share besides its fields: the cloud's answer, and the changes that the app made since.
struct SharingState {
    /// nil: never saved.
    private(set) var held: Share?
    private(set) var link: ShareLink?
    let root: String?
    var publicPermission: ParticipantPermission
    var allowsAccessRequests: Bool
    /// The app's own objects, the owner first: what it sets on them is saved with the share.
    private(set) var participants: [CKShareParticipant]
    private(set) var currentParticipantID: String?
    private(set) var requesters: [PersonIdentity]
    private(set) var blocked: [PersonIdentity]
    private var denied: [UserID] = []
    private var newlyBlocked: [UserID] = []
    private var unblocked: [UserID] = []
    /// A misuse by the app, reported when the share is saved, because there is no other way to raise an error.
    private(set) var misuse: String?

    /// A share that the cloud does not know yet, of the tree below a record or of a whole zone.
    init(root: String?) {
        let owner = ShareParticipant(
            id: UUID().uuidString, role: .owner, permission: .readWrite, acceptance: .accepted,
            identity: PersonIdentity(user: UserID(CKCurrentUserDefaultName)))
        self.root = root
        publicPermission = .none
        allowsAccessRequests = false
        participants = [CKShareParticipant(owner)]
        currentParticipantID = owner.id
        requesters = []
        blocked = []
    }

    init(_ share: Share, link: ShareLink?) {
        held = share
        self.link = link
        root = share.root
        publicPermission = share.publicPermission
        allowsAccessRequests = share.allowsAccessRequests
        participants = share.participants.map { participant in
            let slot = participant.oneTimeGUID.flatMap {
                link?.url(to: $0, fragment: link?.slots[participant.id])?.absoluteString
            }
            return CKShareParticipant(.init(participant: participant, oneTimeLink: slot))
        }
        currentParticipantID = share.currentParticipantID
        requesters = share.requesters
        blocked = share.blocked
    }

    var owner: CKShareParticipant? { participants.first { $0.role == .owner } }
    var current: CKShareParticipant? { participants.first { $0.participantID == currentParticipantID } }

    private var isManager: Bool { current.map { $0.role == .owner || $0.role == .administrator } ?? false }

    // MARK: Changes

    /// Rule B-PRT-06: who is there already is replaced.
    mutating func add(_ participant: CKShareParticipant) {
        guard publicPermission == .none else {
            misuse = "Participants can be added only while publicPermission is none"
            return
        }
        if let index = participants.firstIndex(where: { $0.isSamePerson(as: participant) }) {
            guard participants[index].role != .owner else { return }
            participants[index] = participant.taking(idOf: participants[index])
        } else {
            participants.append(participant)
        }
    }

    mutating func remove(_ participant: CKShareParticipant) {
        guard let index = participants.firstIndex(where: { $0.isSamePerson(as: participant) }) else {
            misuse = "A participant who is not on the share cannot be removed"
            return
        }
        guard participants[index].role != .owner else {
            misuse = "The owner cannot be removed from a share"
            return
        }
        participants.remove(at: index)
    }

    mutating func deny(_ people: [PersonIdentity]) {
        guard checkManager() else { return }
        denied += people.compactMap(\.user)
        requesters.removeAll { people.contains($0) }
    }

    mutating func block(_ people: [PersonIdentity]) {
        guard checkManager() else { return }
        newlyBlocked += people.compactMap(\.user)
        requesters.removeAll { people.contains($0) }
        blocked += people.filter { !blocked.contains($0) }
    }

    mutating func unblock(_ people: [PersonIdentity]) {
        guard checkManager() else { return }
        unblocked += people.compactMap(\.user)
        blocked.removeAll { people.contains($0) }
    }

    private mutating func checkManager() -> Bool {
        if !isManager { misuse = "Only the owner and administrators of a share answer requests for access" }
        return isManager
    }

    // MARK: Saving

    /// Returns the change that a save sends; nil: none.
    ///
    /// - Throws: `CKError.invalidArguments` for a misuse by the app.
    func change() throws(CKError) -> ShareChange? {
        if let misuse { throw .invalidArguments(misuse) }
        var change = ShareChange(denied: denied, blocked: newlyBlocked, unblocked: unblocked)
        if held == nil { change.root = root.map { ShareChange.Root(recordName: $0) } }
        if publicPermission != held?.publicPermission { change.publicPermission = publicPermission }
        if allowsAccessRequests != held?.allowsAccessRequests ?? false {
            change.allowsAccessRequests = allowsAccessRequests
        }
        let wanted = participants.map(\.content)
        let known = (held?.participants ?? []).map { CKShareParticipant.Content(participant: $0) }
        if publicPermission == .none, wanted.compactMap(\.change) != known.compactMap(\.change) {
            let unchanged = Set(known.compactMap(\.change))
            change.participants = wanted.compactMap { content in
                guard var participant = content.change else { return nil }
                participant.isChosen = !unchanged.contains(participant)
                return participant
            }
        }
        return change.isEmpty ? nil : change
    }

    /// Everything that would be sent, as a value.
    var content: Content {
        Content(
            publicPermission: publicPermission, allowsAccessRequests: allowsAccessRequests,
            participants: participants.map(\.content), denied: denied, newlyBlocked: newlyBlocked, unblocked: unblocked,
            misuse: misuse)
    }

    /// Updates the state from the cloud's answer to a save; changes that the app made since it was sent are kept.
    mutating func acknowledge(_ saved: SharingState, sent: Content) {
        guard content == sent else {
            held = saved.held
            link = saved.link
            return
        }
        self = saved
    }

    /// A separate state: changes to a copy do not affect the original.
    var copy: SharingState {
        var copy = self
        copy.participants = participants.map { CKShareParticipant($0.content) }
        return copy
    }

    /// As the cloud answered it last (B-SAV-07).
    var ancestor: SharingState { held.map { SharingState($0, link: link) } ?? copy }

    // MARK: Archiving

    struct Content: Codable, Hashable {
        var held: Share?
        var link: ShareLink?
        var root: String?
        var publicPermission: ParticipantPermission
        var allowsAccessRequests: Bool
        var participants: [CKShareParticipant.Content]
        var currentParticipantID: String?
        var requesters: [PersonIdentity] = []
        var blocked: [PersonIdentity] = []
        var denied: [UserID]
        var newlyBlocked: [UserID]
        var unblocked: [UserID]
        var misuse: String?
    }

    /// For an archive: keys of the share stay with the cloud.
    var archived: Content {
        var content = content
        content.held = held
        content.held?.keys = nil
        content.link = link
        content.root = root
        content.currentParticipantID = currentParticipantID
        content.requesters = requesters
        content.blocked = blocked
        return content
    }

    init(_ content: Content) {
        held = content.held
        link = content.link
        root = content.root
        publicPermission = content.publicPermission
        allowsAccessRequests = content.allowsAccessRequests
        participants = content.participants.map { CKShareParticipant($0) }
        currentParticipantID = content.currentParticipantID
        requesters = content.requesters
        blocked = content.blocked
        denied = content.denied
        newlyBlocked = content.newlyBlocked
        unblocked = content.unblocked
        misuse = content.misuse
    }
}

extension CKShareParticipant {
    /// Whether a participant of a share is the one who is to be added or removed.
    fileprivate func isSamePerson(as other: CKShareParticipant) -> Bool {
        let (mine, others) = (content.participant, other.content.participant)
        if mine.id == others.id { return true }
        // The address of an invitation may be that of another account by now, or of none.
        if let user = mine.identity.user {
            if let other = others.identity.user { return user == other }
            guard mine.acceptance == .accepted else { return false }
        }
        guard let lookup = mine.identity.lookup, !lookup.isEmpty else { return false }
        return lookup == others.identity.lookup
    }

    fileprivate func taking(idOf other: CKShareParticipant) -> CKShareParticipant {
        guard participantID != other.participantID else { return self }
        var content = content
        content.participant.id = other.participantID
        return CKShareParticipant(content)
    }
}

extension CKShareParticipant.Content {
    /// The participant as a request carries it; nil for the owner, and for who came by the link.
    fileprivate var change: ParticipantChange? {
        guard participant.role != .owner, participant.role != .publicUser else { return nil }
        return ParticipantChange(
            id: participant.id, role: participant.role, permission: participant.permission,
            lookup: participant.identity.lookup, user: participant.identity.user, isOneTime: isOneTime)
    }
}
