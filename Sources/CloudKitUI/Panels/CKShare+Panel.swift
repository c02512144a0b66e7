import CloudKit

/// What a panel changes in a share.
extension CKShare {
    /// Gives a new share the title, type and image of what is shared, where the app has not (B-UI-04).
    func introduce(_ introduction: PanelIntroduction) {
        if self[SystemFieldKey.title] == nil { self[SystemFieldKey.title] = introduction.title }
        if self[SystemFieldKey.shareType] == nil { self[SystemFieldKey.shareType] = introduction.type }
        if self[SystemFieldKey.thumbnailImageData] == nil {
            self[SystemFieldKey.thumbnailImageData] = introduction.thumbnail
        }
    }

    /// Returns a participant whom the panel may change.
    func editable(_ id: Participant.ID) throws(PanelProblem) -> Participant {
        guard publicPermission == .none else {
            throw PanelProblem(
                reason: "Everyone with the link can join, so people cannot be changed one by one.",
                remedy: "Let in only people you invite, and try again.")
        }
        guard let participant = participants.first(where: { $0.participantID == id }) else {
            throw .personGone
        }
        guard participant.role != .owner, id != currentUserParticipant?.participantID else { throw .notOffered }
        return participant
    }

    /// Returns a user who asks for access.
    func requester(_ id: String) throws(PanelProblem) -> AccessRequester {
        guard let requester = requesters.first(where: { SharedItem.Requester($0.userIdentity).id == id }) else {
            throw .personGone
        }
        return requester
    }
}
