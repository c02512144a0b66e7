import CloudKit

/// A share as a panel reads it: values only.
struct SharedItem: Hashable, Sendable {
    /// What the user is in the share.
    enum Part: Hashable, Sendable {
        case owner, administrator, member

        var managesPeople: Bool { self != .member }
    }

    /// What a person is in the share.
    enum Role: Hashable, Sendable {
        case owner, administrator, member
        /// Joined through the link (B-PRT-02).
        case publicMember
    }

    /// A participant.
    struct Person: Hashable, Sendable {
        var id: String
        var name: String?
        /// An e-mail address or a telephone number.
        var address: String?
        var role = Role.member
        var permission: PanelPermission?
        var isAccepted = true
        var isYou = false
        var hasAccount = true
        /// The link of a slot for who opens it first, until it is taken (B-SHN-01).
        var oneTimeLink: String?
    }

    /// A user who asks for access, or may not ask any more.
    struct Requester: Hashable, Sendable {
        var id: String
        var name: String?
        var address: String?
    }

    var title: String?
    var type: String?
    var thumbnail: Data?
    var access: PanelAccess
    var allowsAccessRequests: Bool
    var link: String?
    /// The owner first.
    var people: [Person]
    var requesters: [Requester]
    var blocked: [Requester]
    var part: Part
}

extension SharedItem {
    @MainActor
    init(_ share: CKShare) {
        title = share[CKShare.SystemFieldKey.title] as? String
        type = share[CKShare.SystemFieldKey.shareType] as? String
        thumbnail = share[CKShare.SystemFieldKey.thumbnailImageData] as? Data
        access = PanelAccess(share.publicPermission)
        allowsAccessRequests = share.allowsAccessRequests
        link = share.url?.absoluteString
        let you = share.currentUserParticipant?.participantID
        people = share.participants.map { Person($0, in: share, isYou: $0.participantID == you) }
        requesters = share.requesters.map { Requester($0.userIdentity) }
        blocked = share.blockedIdentities.map { Requester($0.userIdentity) }
        switch share.currentUserParticipant?.role {
        case .owner: part = .owner
        case .administrator: part = .administrator
        default: part = .member
        }
    }

    /// The owner, unless that is the user.
    var otherOwner: Person? { people.first { $0.role == .owner && !$0.isYou } }
}

extension SharedItem.Person {
    fileprivate init(_ participant: CKShare.Participant, in share: CKShare, isYou: Bool) {
        id = participant.participantID
        name = participant.userIdentity.shownName
        address = participant.userIdentity.shownAddress
        switch participant.role {
        case .owner: role = .owner
        case .administrator: role = .administrator
        case .publicUser: role = .publicMember
        default: role = .member
        }
        permission = PanelPermission(participant.permission)
        isAccepted = participant.acceptanceStatus == .accepted
        self.isYou = isYou
        hasAccount = participant.userIdentity.hasiCloudAccount
        let identity = participant.userIdentity
        if !isAccepted, identity.lookupInfo == nil, identity.userRecordID == nil {
            oneTimeLink = share.oneTimeURL(for: participant.participantID)?.absoluteString
        }
    }

    /// The name that the panel shows.
    var shownName: String {
        if isYou { return "You" }
        if oneTimeLink != nil { return "One-time link" }
        return name ?? address ?? (role == .owner ? "The owner" : "Someone without a name")
    }
}

extension SharedItem.Requester {
    init(_ identity: CKUserIdentity) {
        name = identity.shownName
        address = identity.shownAddress
        id = identity.userRecordID?.recordName ?? identity.shownAddress ?? ""
    }

    var shownName: String { name ?? address ?? "Someone without a name" }
}

extension CKUserIdentity {
    /// The name of the user, as far as it is known.
    var shownName: String? {
        let parts = [nameComponents?.givenName, nameComponents?.familyName].compactMap { $0 }.filter { !$0.isEmpty }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }

    /// The address by which the user was looked up.
    var shownAddress: String? { lookupInfo?.emailAddress ?? lookupInfo?.phoneNumber }
}
