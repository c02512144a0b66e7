import CloudKitModel
import CloudKitRecordLayer

/// The role of a user for a part of a zone.
package enum ShareAccessLevel: Hashable, Sendable, CaseIterable {
    case owner, administrator, readWrite, readOnly
    /// A pending or removed participant, or a non-member: shared records are hidden from them.
    case none

    /// - Parameter slot: The caller's participant slot in the share of that part.
    package init(slot: ShareMember.Slot?) {
        switch (slot?.role, slot?.permission) {
        case (.administrator?, .readWrite?), (.administrator?, .readOnly?): self = .administrator
        case (_?, .readWrite?): self = .readWrite
        case (_?, .readOnly?): self = .readOnly
        default: self = .none
        }
    }
}

/// Decides what owners and members may do with the records of a zone; no other place decides it.
///
/// `docs/access.md` holds the whole table; a test reads it from there.
package enum ShareAuthorization {
    /// The action on a record.
    package enum Verb: Hashable, Sendable, CaseIterable {
        case read, create, change, delete
    }

    /// The object of a verb.
    package enum Object: Hashable, Sendable, CaseIterable {
        /// A record in a shared tree, or in a zone that is shared as a whole.
        case record
        /// The record at the top of a shared tree.
        case root
        /// The share's own record.
        case share
    }

    /// The decision on an action.
    package enum Verdict: Hashable, Sendable {
        case allow
        /// Not a deletion: the caller leaves the share (B-ACP-06, B-ACP-07).
        case leave
        /// Answered as if the object did not exist (B-ACP-02).
        case hide
        case refuse
    }

    /// Decides one verb.
    ///
    /// Rules B-PRT-07, B-PRT-10 to B-PRT-13, B-ACP-06, B-ACP-07.
    ///
    /// - Parameter standing: The caller's in the share that the object belongs to; for `create` in that of the new
    ///   record's parent.
    package static func verdict(_ verb: Verb, _ object: Object, for standing: ShareAccessLevel) -> Verdict {
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

    /// The rights of the holder of a link.
    package enum LinkVerdict: Hashable, Sendable {
        case owner
        /// A participant of this id, pending or accepted, who is known to be the caller.
        case participant(id: String)
        /// A participant slot that becomes the caller's by accepting: invited by the caller's address, or by a one-time link.
        case slot(id: String)
        /// Any user may join.
        case join(ParticipantPermission)
        /// There are invitations by address that the caller may yet prove to be theirs.
        case mayNeedVerification
        case hide
        /// Only a user with an account can continue.
        case signIn
    }

    /// Decides the rights of the holder of a share's link.
    ///
    /// Rules B-PRT-02, B-ACP-02, B-SHN-01.
    ///
    /// - Parameters:
    ///   - user: nil: no user is signed in.
    ///   - proved: The addresses and numbers that are known to be the caller's.
    ///   - participantSlotID: The participant whose one-time link it is; nil: the share's own link.
    package static func verdict(
        onLinkOf share: StoredShare, ownedBy owner: UserID, for user: UserID?, proved: ProvedAddresses,
        participantSlotID: String?
    ) -> LinkVerdict {
        guard let user else { return share.publicPermission == .none ? .signIn : .join(share.publicPermission) }
        if user == owner { return .owner }
        if share.blocked.contains(where: { $0.user == user }) { return .hide }
        if let known = share.participant(of: user) { return .participant(id: known.id) }
        if let participantSlotID {
            // Used by another user, or withdrawn.
            guard let slot = share.participants.first(where: { $0.id == participantSlotID }), slot.user == nil,
                slot.oneTimeGUID != nil
            else { return .hide }
            return .slot(id: slot.id)
        }
        let unclaimed = share.participants.filter { $0.user == nil && $0.oneTimeGUID == nil }
        if let slot = unclaimed.first(where: proved.include) { return .slot(id: slot.id) }
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
