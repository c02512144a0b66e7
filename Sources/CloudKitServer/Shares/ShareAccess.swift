import CloudKitModel
import CloudKitRecordLayer

/// What somebody is to a piece of a zone.
package enum ShareStanding: Hashable, Sendable, CaseIterable {
    case owner, administrator, readWrite, readOnly
    /// Pending, removed, or a stranger: for what is shared they do not exist, nor it for them.
    case none

    /// - Parameter seat: The caller's seat in the share that the piece belongs to.
    package init(seat: ShareMember.Seat?) {
        switch (seat?.role, seat?.permission) {
        case (.administrator?, .readWrite?), (.administrator?, .readOnly?): self = .administrator
        case (_?, .readWrite?): self = .readWrite
        case (_?, .readOnly?): self = .readOnly
        default: self = .none
        }
    }
}

/// Who may do what with the records of a zone: the one place that decides it, for owners and for members.
///
/// `docs/access.md` holds the whole table; a test reads it from there.
package enum ShareAccess {
    package enum Verb: Hashable, Sendable, CaseIterable {
        case read, create, change, delete
    }

    /// What a verb is about.
    package enum Object: Hashable, Sendable, CaseIterable {
        /// A record in a shared tree, or in a zone that is shared as a whole.
        case record
        /// The record at the top of a shared tree.
        case root
        /// The share's own record.
        case share
    }

    package enum Verdict: Hashable, Sendable {
        case allow
        /// Not a deletion: the caller gives up their seat (B-ACP-06, B-ACP-07).
        case leave
        /// As if it were not there (B-ACP-02).
        case hide
        case refuse
    }

    /// Weighs one verb.
    ///
    /// Rules B-PRT-07, B-PRT-10 to B-PRT-13, B-ACP-06, B-ACP-07.
    ///
    /// - Parameter standing: The caller's in the share that the object belongs to; for `create` in that of the new
    ///   record's parent.
    package static func verdict(_ verb: Verb, _ object: Object, for standing: ShareStanding) -> Verdict {
        switch (standing, verb, object) {
        case (.owner, _, _): .allow
        case (.none, .create, _): .refuse
        case (.none, _, _): .hide
        case (_, .read, _): .allow
        case (_, .delete, .share), (_, .delete, .root): .leave
        case (_, .create, .share), (_, .create, .root): .refuse
        case (.administrator, .change, .share): .allow
        case (_, .change, .share): .refuse
        case (.administrator, _, _), (.readWrite, _, _): .allow
        case (.readOnly, _, _): .refuse
        }
    }

    /// What the holder of a link may do with it.
    package enum LinkVerdict: Hashable, Sendable {
        case owner
        /// A participant of this id, pending or accepted, who is known to be the caller.
        case participant(id: String)
        /// A seat that becomes the caller's by accepting: one invited by an address that is theirs, or by a one-time link.
        case seat(id: String)
        /// Anybody may come in.
        case join(ParticipantPermission)
        /// There are invitations by address that the caller may yet prove to be theirs.
        case mayNeedVerification
        case hide
        /// Only somebody with an account can go on.
        case signIn
    }

    /// Weighs who opens a share's link.
    ///
    /// Rules B-PRT-02, B-ACP-02, B-SHN-01.
    ///
    /// - Parameters:
    ///   - user: nil: nobody is signed in.
    ///   - email: The address that the caller's account has proved, normalised.
    ///   - seatID: The participant whose one-time link it is; nil: the share's own link.
    package static func verdict(
        onLinkOf share: StoredShare, ownedBy owner: UserID, for user: UserID?, email: String?, seatID: String?
    ) -> LinkVerdict {
        guard let user else { return share.publicPermission == .none ? .signIn : .join(share.publicPermission) }
        if user == owner { return .owner }
        if share.blocked.contains(where: { $0.user == user }) { return .hide }
        if let known = share.participant(of: user) { return .participant(id: known.id) }
        if let seatID {
            // Used by somebody else, or taken back.
            guard let seat = share.participants.first(where: { $0.id == seatID }), seat.user == nil,
                seat.oneTimeGUID != nil
            else { return .hide }
            return .seat(id: seat.id)
        }
        let unclaimed = share.participants.filter { $0.user == nil && $0.oneTimeGUID == nil }
        if let email, let seat = unclaimed.first(where: { $0.email == email }) { return .seat(id: seat.id) }
        if share.publicPermission != .none { return .join(share.publicPermission) }
        return unclaimed.isEmpty ? .hide : .mayNeedVerification
    }
}

extension RequestFailure {
    /// B-PRT-10, B-PRT-12.
    static let writeNotPermitted = RequestFailure(
        .accessDenied, "WRITE operation not permitted", remedy: "Ask the owner of the share for write access.")

    /// B-PRT-12, B-PRT-13.
    static let notInShare = RequestFailure(
        .accessDenied, "CREATE operation not permitted: the record would not be in the share",
        remedy: "Give the record a parent that is shared with write access.")
}
