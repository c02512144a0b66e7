import Testing

@testable import CloudKit

/// The participants that a share hands out.
@Suite struct ShareParticipantsTests {
    private func share() -> CKShare {
        CKShare(recordZoneID: CKRecordZone.ID(zoneName: "Z", ownerName: CKCurrentUserDefaultName))
    }

    @Test func `B-PRT-08 the owner and the current user are objects of the share's own list`() {
        let share = share()
        #expect(share.owner === share.participants.first)
        #expect(share.currentUserParticipant === share.owner)
        share.currentUserParticipant?.permission = .readOnly
        #expect(share.owner.permission == .readOnly)
    }

    @Test func `B-PRT-06 a permission that is set on a participant of the list stays`() {
        let share = share()
        share.addParticipant(.oneTimeURLParticipant())
        let participant = share.participants.last
        share.participants.last?.permission = .readWrite
        #expect(participant?.permission == .readWrite && share.participants.last === participant)
        let copy = share.copy() as? CKShare
        copy?.participants.last?.permission = .readOnly
        #expect(participant?.permission == .readWrite)
    }

    @Test func `Names of keys and types that talks and older code use`() {
        let names: any OlderNames = OlderCode()
        names.check()
    }
}

/// Tests cannot be deprecated themselves; they call deprecated forms through a protocol.
private protocol OlderNames { func check() }

private struct OlderCode: OlderNames {
    @available(*, deprecated)
    func check() {
        #expect(CKShareTitleKey == CKShare.SystemFieldKey.title)
        #expect(CKShareThumbnailImageDataKey == CKShare.SystemFieldKey.thumbnailImageData)
        #expect(CKShareTypeKey == CKShare.SystemFieldKey.shareType)
        let permission: CKShareParticipantPermission = .readWrite
        let status: CKShareParticipantAcceptanceStatus = .accepted
        let role: CKShareParticipantRole = .owner
        let type: CKShareParticipantType = .owner
        #expect(permission.rawValue == 3 && status.rawValue == 2 && role.rawValue == 1 && type.rawValue == 1)
    }
}
