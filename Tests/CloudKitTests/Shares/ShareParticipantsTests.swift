import CloudKitModel
import Testing

@testable import CloudKit

/// The participants that a share hands out.
@Suite(.timeLimit(.minutes(20))) struct ShareParticipantsTests {
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

    @Test func `B-PRT-03 a save names the invited participants, not the owner and not who came by the link`() throws {
        func participant(_ id: String, _ role: ParticipantRole) -> ShareParticipant {
            ShareParticipant(
                id: id, role: role, permission: .readWrite, acceptance: .accepted,
                identity: PersonIdentity(user: UserID("_" + id)))
        }
        let held = Share(
            root: nil, publicPermission: .readOnly,
            participants: [
                participant("ada", .owner), participant("ben", .privateUser), participant("cat", .publicUser),
                participant("dan", .administrator),
            ], currentParticipantID: "ada")
        var state = SharingState(held, link: nil)
        #expect(try state.change() == nil)
        state.publicPermission = .none
        // The cloud removes users of the link itself (B-PRT-04).
        #expect(try state.change()?.participants == nil)
        let fourth = CKShareParticipant.oneTimeURLParticipant()
        state.add(fourth)
        let change = try #require(try state.change())
        #expect(change.participants?.map(\.id) == ["ben", "dan", fourth.participantID])
        #expect(change.participants?.map(\.isChosen) == [false, false, true])
    }

    @Test func `B-PRT-06 a user of the same address as an invited one is added beside that one`() {
        func participant(_ id: String, _ user: String?) -> CKShareParticipant {
            CKShareParticipant(
                ShareParticipant(
                    id: id, role: .privateUser, permission: .readOnly, acceptance: .pending,
                    identity: PersonIdentity(
                        user: user.map { UserID($0) }, lookup: LookupInfo(emailAddress: "bea@example.com"))))
        }
        let share = share()
        share.addParticipant(participant("1", "_bea"))
        share.addParticipant(participant("2", "_another"))
        #expect(share.participants.dropFirst().map(\.participantID) == ["1", "2"])
        share.addParticipant(participant("3", "_another"))
        #expect(share.participants.dropFirst().map(\.participantID) == ["1", "2"])
        // Nobody has the address any more.
        share.addParticipant(participant("4", nil))
        share.addParticipant(participant("5", nil))
        #expect(share.participants.dropFirst().map(\.participantID) == ["1", "2", "4"])
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
