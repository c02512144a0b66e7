import CloudKitDevice
import CloudKitEncryption
import CloudKitModel

/// A share as far as its verified statement confirms the cloud's description of it: the only participants for whom keys are
/// wrapped, with the roles and permissions that were stated.
struct ConfirmedShare: Sendable {
    /// The share with the confirmed participants, and with a link only if it was stated to be open.
    private(set) var sharing: Share
    /// Identities that are not the stated ones of their participants, who wait until the user of this device trusts them.
    private(set) var refused: Set<Fingerprint> = []
    /// Participants whom no device confirmed, with the permission that the cloud reports.
    private(set) var unconfirmed: [ShareParticipant] = []

    /// - Parameters:
    ///   - statement: The share's statement; nil: none was made.
    ///   - links: Returns the secrets that the share's link has or had, or that of a one-time link by its participant, as far as this device
    ///     knows them.
    ///   - isConfirmed: Returns whether the user of this device confirmed a new identity of another user.
    init(
        _ sharing: Share, by statement: ShareStatement?, share: RecordAddress,
        links: (String?) -> [ShareLinkSecret], isConfirmed: (Fingerprint, UserID) -> Bool
    ) {
        self.sharing = sharing
        self.sharing.participants = sharing.participants.filter { $0.role == .owner }
        let stated = statement?.publicPermission ?? .none
        self.sharing.publicPermission = min(stated, ShareStatement.Permission(sharing.publicPermission)).model
        for participant in sharing.participants where participant.role != .owner && participant.acceptance != .removed {
            guard let entry = statement?.participant(participant.id) else {
                if participant.role == .publicUser {
                    if self.sharing.isOpen, participant.isProven(in: share, by: links(nil)) {
                        self.sharing.participants.append(participant)
                    }
                } else {
                    unconfirmed.append(participant)
                }
                continue
            }
            let identity = participant.publicIdentity?.fingerprint
            if let identity, let user = participant.identity.user {
                if let known = entry.identity {
                    if known != identity, !isConfirmed(identity, user) { refused.insert(identity) }
                } else if let subject = entry.subject {
                    guard participant.subjects(in: share).contains(subject) else {
                        unconfirmed.append(participant)
                        continue
                    }
                } else if !participant.isProven(in: share, by: links(participant.id)) {
                    // The slot of a one-time link: only a holder of the link gets the key.
                    continue
                }
            }
            self.sharing.participants.append(participant.limited(to: entry))
        }
    }
}

extension ShareStatement {
    /// A difference between a statement and the cloud's description of its share.
    struct Contradiction: Hashable, Sendable {
        /// A fixed sentence.
        var reason: String
        /// The question whether the cloud's description is right; nil if only the statement can be.
        var question: ShareQuestions.Question?
    }

    /// Returns where the cloud's description of the share gives more than was stated.
    ///
    /// Less than stated is no contradiction: a client without keys may have removed participants, or closed the link.
    /// - Parameter isManager: Whether the viewer sees the addresses of all participants, as owner and administrators do;
    ///   others compare their own entry only.
    func contradictions(in sharing: Share, isManager: Bool) -> [Contradiction] {
        guard sharing.root == root else { return [Contradiction(reason: "the cloud names another root record")] }
        var found: [Contradiction] = []
        if Permission(sharing.publicPermission) > publicPermission {
            let question = ShareQuestions.Question(
                share: share, participant: nil, canWrite: sharing.publicPermission == .readWrite, root: root)
            found.append(
                Contradiction(
                    reason: "the cloud gives users who have the link more than was stated", question: question))
        }
        let present = Set(sharing.participants.map(\.id))
        for participant in sharing.participants
        where participant.role != .owner && participant.role != .publicUser && participant.acceptance != .removed {
            guard isManager || participant.id == sharing.currentParticipantID,
                let entry = self.participant(participant.id)
            else { continue }
            // A person who was invited in two ways gets the sum of both when they accept (B-PRT-06).
            let subjects = participant.subjects(in: share)
            let merged = participants.filter { other in
                !present.contains(other.id) && other.subject.map(subjects.contains) ?? false
            }
            let question = participant.question(in: share, root: root)
            if Permission(participant.permission) > merged.map(\.permission).reduce(entry.permission, max) {
                found.append(
                    Contradiction(reason: "the cloud gives a participant more than was stated", question: question))
            } else if participant.role == .administrator, !entry.isAdministrator,
                !merged.contains(where: \.isAdministrator)
            {
                found.append(
                    Contradiction(
                        reason: "the cloud names an administrator who was not stated to be one", question: question))
            }
        }
        return found
    }

    /// Returns the statement after a save by the app on this device: changed by what the app changed, and nothing else.
    ///
    /// - Parameters:
    ///   - held: The share as the cloud describes it before the save; nil for a new one.
    ///   - known: Returns the identity that this device has pinned for a user.
    func applying(_ change: ShareChange, to held: Share?, known: (UserID) -> Fingerprint?) -> ShareStatement {
        var statement = self
        if let permission = change.publicPermission, permission != .unknown {
            let isOpening = statement.publicPermission == .none && permission.canRead
            statement.publicPermission = Permission(permission)
            if isOpening, let held {
                // The cloud removes invitations that were not accepted (B-PRT-04).
                let pending = Set(held.participants.filter { $0.acceptance == .pending }.map(\.id))
                statement.participants.removeAll { pending.contains($0.id) }
            }
        }
        let blocked = Set(change.blocked)
        let blockedIDs = (held?.participants ?? []).filter { $0.identity.user.map(blocked.contains) ?? false }.map(\.id)
        statement.participants.removeAll { blockedIDs.contains($0.id) }
        guard let participants = change.participants else { return statement }
        let wanted = Set(participants.compactMap(\.id))
        statement.participants.removeAll { !wanted.contains($0.id) }
        for participant in participants where participant.isChosen {
            guard let id = participant.id else { continue }
            statement.set(Participant(id, participant, held: statement.participant(id), of: share, known: known))
        }
        return statement
    }

    /// Returns the statement with what the user of this device confirmed.
    func confirming(_ answers: [ShareQuestions.Question]) -> ShareStatement {
        var statement = self
        for answer in answers where answer.share == share && answer.root == root {
            let permission: Permission = answer.canWrite ? .readWrite : .readOnly
            guard let id = answer.participant else {
                statement.publicPermission = permission
                continue
            }
            let subject = answer.person.map { Subject(.init(namedBy: $0), $0.lowercased(), of: share) }
            statement.set(
                Participant(
                    id: id, isAdministrator: answer.isAdministrator, permission: permission,
                    subject: statement.participant(id)?.subject ?? subject, identity: answer.fingerprint))
        }
        return statement
    }

    /// Returns the statement for an epoch that begins: without participants and links that the cloud no longer has, which a client
    /// without keys may have removed.
    func continued(in sharing: Share) -> ShareStatement {
        var statement = self
        let present = Set(sharing.participants.lazy.filter { $0.acceptance != .removed }.map(\.id))
        statement.participants.removeAll { !present.contains($0.id) }
        statement.publicPermission = min(publicPermission, Permission(sharing.publicPermission))
        return statement
    }

    /// Returns the statement with the identities to which keys are sealed now.
    func bound(by wraps: [ShareKeyChange.Wrap], to sharing: Share) -> ShareStatement {
        var statement = self
        for wrap in wraps {
            guard var entry = statement.participant(wrap.participantID), let hex = wrap.identity,
                let identity = sharing.participants.first(where: { $0.id == wrap.participantID })?.publicIdentity,
                identity.fingerprint.hex == hex
            else { continue }
            entry.identity = identity.fingerprint
            statement.set(entry)
        }
        return statement
    }
}

extension ShareStatement.Participant {
    /// A participant as the app wants them.
    fileprivate init(
        _ id: String, _ change: ParticipantChange, held: Self?, of share: RecordAddress,
        known: (UserID) -> Fingerprint?
    ) {
        let isAdministrator = change.role.map { $0 == .administrator } ?? held?.isAdministrator ?? false
        let permission = change.permission.map { ShareStatement.Permission($0) } ?? held?.permission ?? .readOnly
        let person = ShareStatement.Subject.all(user: change.user, lookup: change.lookup, of: share)
        self.init(
            id: id, isAdministrator: isAdministrator, permission: permission,
            subject: held?.subject ?? (change.isOneTime ? nil : person.first),
            identity: held?.identity ?? change.user.flatMap(known))
    }
}

extension ShareStatement.Subject {
    /// The subjects of everything that names a person, the most definite first.
    static func all(user: UserID?, lookup: LookupInfo?, of share: RecordAddress) -> [Self] {
        var subjects: [Self] = []
        if let user = user ?? lookup?.user { subjects.append(Self(.user, user.recordName.lowercased(), of: share)) }
        if let email = lookup?.emailAddress { subjects.append(Self(.email, email.lowercased(), of: share)) }
        if let phone = lookup?.normalisedPhone { subjects.append(Self(.phone, phone, of: share)) }
        return subjects
    }
}

extension ShareStatement.Subject.Kind {
    /// The kind of a text that names a person: an address, a number in the form of E.164, or the name of a user's record.
    fileprivate init(namedBy text: String) { self = text.contains("@") ? .email : text.hasPrefix("+") ? .phone : .user }
}

extension ShareStatement.Permission {
    /// The permission as a statement has it; an unknown one is none.
    init(_ permission: ParticipantPermission) {
        switch permission {
        case .unknown, .none: self = .none
        case .readOnly: self = .readOnly
        case .readWrite: self = .readWrite
        }
    }

    var model: ParticipantPermission {
        switch self {
        case .none: .none
        case .readOnly: .readOnly
        case .readWrite: .readWrite
        }
    }
}

extension ShareParticipant {
    /// The identity that the cloud presents; nil if there is none, or none that can be read.
    var publicIdentity: PublicIdentity? { identity.publicIdentity.flatMap { try? PublicIdentity(bytes: $0) } }

    /// Everything by which a statement may name the person.
    fileprivate func subjects(in share: RecordAddress) -> [ShareStatement.Subject] {
        ShareStatement.Subject.all(user: identity.user, lookup: identity.lookup, of: share)
    }

    /// Returns whether the user has proved to have a link, with the identity that the cloud presents.
    fileprivate func isProven(in share: RecordAddress, by links: [ShareLinkSecret]) -> Bool {
        guard let linkProof, let user = identity.user, let publicIdentity else { return false }
        return links.contains {
            $0.isValid(linkProof, of: user.recordName, identity: publicIdentity.fingerprint, share: share)
        }
    }

    fileprivate func limited(to entry: ShareStatement.Participant) -> Self {
        var limited = self
        if role == .administrator, !entry.isAdministrator { limited.role = .privateUser }
        limited.permission = min(ShareStatement.Permission(permission), entry.permission).model
        return limited
    }

    /// The question whether this participant is to have access.
    func question(in share: RecordAddress, root: String?) -> ShareQuestions.Question {
        ShareQuestions.Question(
            share: share, participant: id,
            person: identity.lookup?.emailAddress ?? identity.lookup?.normalisedPhone ?? identity.user?.recordName,
            fingerprint: publicIdentity?.fingerprint, isAdministrator: role == .administrator,
            canWrite: permission == .readWrite, root: root)
    }
}
