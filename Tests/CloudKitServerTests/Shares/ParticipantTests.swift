import CloudKitModel
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct ParticipantTests {
    private func withShare(
        _ engine: Engine = .memory, permission: ParticipantPermission = .none,
        with participants: [ParticipantChange] = [],
        _ body: (TestCloud, Record) async throws -> Void
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("Root"), create("In", parent: .set(recordName: "Root")), create("Out")])
            try await body(test, try await test.shareTree("Root", permission: permission, with: participants))
        }
    }

    /// An account whose e-mail address is known; its user in the test's container.
    private func account(_ email: String, _ name: String, _ test: TestCloud) async throws -> UserID {
        let accounts = test.cloud.accountStore.accounts
        let account = try await accounts.add(
            email: email, name: name, proof: TestCloud.proof, derivation: accounts.newDerivation(rounds: 1))
        return try await test.cloud.accountStore.userNames
            .name(of: account.id, in: TestCloud.container)
    }

    @Test func `B-PRT-02, B-ACP-02, B-ACP-03 a private share admits its participants only`() async throws {
        try await withShare(with: [invite(TestCloud.bob)]) { test, share in
            let pending = try await test.resolve(share.shortGUID, by: TestCloud.bob, withRoot: true).invitation
            #expect(pending?.acceptance == .pending)
            #expect(pending?.permission == .readWrite)
            #expect(pending?.rootRecord?.id.recordName == "Root")
            #expect(pending?.scope == .shared)
            #expect(pending?.owner.user == TestCloud.ada)
            #expect(try await test.resolve(share.shortGUID, by: TestCloud.cyd).code == .itemNotFound)
            #expect(try await test.accept(share.shortGUID, by: TestCloud.cyd).code == .accessDenied)
            await expect(.authenticationRequired) { _ = try await test.resolve(share.shortGUID, by: nil) }
            #expect(try await test.accept(share.shortGUID, by: TestCloud.bob).invitation?.acceptance == .accepted)
            #expect(try await test.accept(share.shortGUID, by: TestCloud.bob).invitation?.acceptance == .accepted)
            let own = try await test.resolve(share.shortGUID, by: TestCloud.ada).invitation
            #expect(own?.scope == .private)
            #expect(own?.role == .owner)
        }
    }

    @Test func `B-ACP-02, B-ERR-21 non-members get the same answer for a private share as for a missing one`()
        async throws
    {
        try await withShare(with: [invite(TestCloud.bob)]) { test, share in
            let nowhere = try await test.resolve("nowhere", by: TestCloud.cyd)
            #expect(nowhere == .failed(RequestFailure(.itemNotFound, "Share not found")))
            #expect(try await test.resolve(share.shortGUID, by: TestCloud.cyd) == nowhere)
            #expect(try await test.accept("nowhere", by: TestCloud.bob) == nowhere)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ACP-02 an old link does not lead to a later share of a record of the same name`(_ engine: Engine)
        async throws
    {
        try await withShare(engine, permission: .readOnly) { test, share in
            try await test.modify([delete("In")])
            try await test.modify([delete("Root")])
            try await test.modify([create("Root")])
            let later = try await test.shareTree("Root", as: "Later", permission: .readOnly)
            #expect(later.shortGUID != share.shortGUID)
            #expect(try await test.resolve(share.shortGUID, by: TestCloud.cyd).code == .itemNotFound)
            #expect(try await test.accept(share.shortGUID, by: TestCloud.cyd).code == .itemNotFound)
            #expect(try await test.accept(later.shortGUID, by: TestCloud.cyd).invitation?.role == .publicUser)
        }
    }

    @Test func `B-ACP-02 changing an invisible share does not reveal whether it exists`() async throws {
        try await withShare(with: [invite(TestCloud.bob, role: .administrator)]) { test, share in
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            try await test.shareTree("Out")
            for name in ["Share-Out", "Nowhere"] {
                #expect(try await test.changeShare(name, ShareChange(), by: TestCloud.bob).code == .itemNotFound)
            }
        }
    }

    @Test func `B-PRT-02 a user with the link of a public share may join`() async throws {
        try await withShare(permission: .readOnly) { test, share in
            #expect(try await test.resolve(share.shortGUID, by: nil).invitation?.permission == .readOnly)
            let accepted = try await test.accept(share.shortGUID, by: TestCloud.cyd).invitation
            #expect(accepted?.role == .publicUser)
            let save = try await test.modify([save(.forceUpdate, "In")], of: TestCloud.ada, by: TestCloud.cyd)
            #expect(save[0].code == .accessDenied)
            try await test.changeShare("Share-Root", ShareChange(publicPermission: .readWrite))
            let second = try await test.modify(
                [CloudKitServerTests.save(.forceUpdate, "In")], of: TestCloud.ada, by: TestCloud.cyd)
            #expect(second[0].record != nil)
        }
    }

    @Test
    func `B-PRT-03, B-PRT-04 opening a share removes pending participants, closing it removes users of the link`()
        async throws
    {
        try await withShare(with: [invite(TestCloud.bob), invite(TestCloud.cyd)]) { test, share in
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            let opened = try await test.changeShare("Share-Root", ShareChange(publicPermission: .readOnly))
            #expect(opened.record?.sharing?.participants.compactMap(\.identity.user) == [TestCloud.ada, TestCloud.bob])
            let edited = try await test.changeShare("Share-Root", ShareChange(participants: [invite(TestCloud.dan)]))
            #expect(edited.code == .badRequest)
            try await test.accept(share.shortGUID, by: TestCloud.dan)
            let closed = try await test.changeShare(
                "Share-Root", ShareChange(publicPermission: ParticipantPermission.none))
            #expect(closed.record?.sharing?.participants.compactMap(\.identity.user) == [TestCloud.ada, TestCloud.bob])
            await expect(.zoneNotFound) { _ = try await test.sharedLookup(["In"], by: TestCloud.dan) }
        }
    }

    @Test func `B-PRT-05, B-PRT-09, B-ACP-02 an address is claimed by the account that has it`() async throws {
        let guest = ParticipantChange(
            permission: .readWrite, lookup: LookupInfo(emailAddress: "Bea@Example.com"))
        try await withShare(with: [guest]) { test, share in
            #expect(share.sharing?.participants.last?.identity.hasAccount == false)
            #expect(
                try await test.resolve(share.shortGUID, by: TestCloud.cyd).code == .participantMayNeedVerification)
            let bea = try await account("bea@example.com", "Bea Smith", test)
            #expect(try await test.resolve(share.shortGUID, by: bea).invitation?.acceptance == .pending)
            #expect(try await test.accept(share.shortGUID, by: bea).invitation?.permission == .readWrite)
            let seen = try await test.share("Share-Root")?.participants.last
            #expect(seen?.identity.user == bea)
            #expect(seen?.identity.givenName == "Bea")
            #expect(seen?.identity.familyName == "Smith")
            #expect(try await test.resolve(share.shortGUID, by: TestCloud.cyd).code == .itemNotFound)
        }
    }

    @Test func `B-PRT-05, B-PRT-09 an invitation by phone number is claimed by the account that has it`() async throws {
        let people = [
            ParticipantChange(id: "P", permission: .readOnly, lookup: LookupInfo(phoneNumber: "+44 1632 960083")),
            ParticipantChange(id: "M", permission: .readWrite, lookup: LookupInfo(emailAddress: "bea@example.com")),
        ]
        try await withShare(with: people) { test, share in
            #expect(try await test.resolve(share.shortGUID, by: TestCloud.cyd).code == .participantMayNeedVerification)
            let bea = try await account("bea@example.com", "Bea", test)
            let accounts = test.cloud.accountStore.accounts
            try await accounts.addPhoneNumber("0044 (0)1632 960083", email: "bea@example.com")
            // Invited by both, the person has one slot with the rights of both.
            #expect(try await test.accept(share.shortGUID, by: bea).invitation?.permission == .readWrite)
            let seen = try await test.share("Share-Root")?.participants
            #expect(seen?.count == 2)
            #expect(seen?.last?.identity.user == bea)
            #expect(
                seen?.last?.identity.lookup
                    == LookupInfo(emailAddress: "bea@example.com", phoneNumber: "+441632960083"))
            let found = try await LookupParticipants(test.cloud).run(
                [LookupInfo(phoneNumber: "+44 1632 960083")], in: TestCloud.address(.public),
                by: Caller(user: TestCloud.ada))
            #expect(found.map(\.identity.user) == [bea])
        }
    }

    @Test func `B-PRT-05, B-ACC-05 users are looked up by address or name, with or without an account`() async throws {
        try await withCloud { test in
            let bea = try await account("bea@example.com", "Bea", test)
            let infos = [
                LookupInfo(emailAddress: "bea@example.com"), LookupInfo(emailAddress: "none@example.com"),
                LookupInfo(user: bea), LookupInfo(phoneNumber: "+1 555 0100"),
            ]
            let found = try await LookupParticipants(test.cloud).run(
                infos, in: TestCloud.address(.public), by: Caller(user: TestCloud.ada))
            #expect(found.map(\.identity.user) == [bea, nil, bea, nil])
            #expect(found.map(\.identity.givenName) == [nil, nil, nil, nil])
            await expect(.authenticationRequired) {
                _ = try await LookupParticipants(test.cloud).run(infos, in: TestCloud.address(.public), by: .anonymous)
            }
        }
    }

    @Test func `B-PRT-06, B-LIM-08 adding a participant again changes them, and a share holds 100`() async throws {
        try await withShare(with: [invite(TestCloud.bob, .readOnly)]) { test, share in
            let id = share.sharing?.participants.last?.id
            let changed = try await test.changeShare(
                "Share-Root", ShareChange(participants: [invite(TestCloud.bob), invite(TestCloud.bob, .readWrite)]))
            #expect(changed.record?.sharing?.participants.count == 2)
            #expect(changed.record?.sharing?.participants.last?.id == id)
            #expect(changed.record?.sharing?.participants.last?.permission == .readWrite)
            let crowd = (0..<101).map { invite(UserID("_user\($0)")) }
            let refused = try await test.changeShare("Share-Root", ShareChange(participants: crowd))
            #expect(refused.code == .tooManyParticipants)
            let full = try await test.changeShare("Share-Root", ShareChange(participants: Array(crowd.dropLast())))
            #expect(full.record?.sharing?.participants.count == 101)
        }
    }

    /// The address is that of another account by now: the first one was removed, or has another address.
    @Test(arguments: Engine.allCases)
    func `B-PRT-06 a user of the same address as an invited one is another participant`(_ engine: Engine)
        async throws
    {
        let address = LookupInfo(emailAddress: "bea@example.com")
        let first = ParticipantChange(id: "1", permission: .readOnly, lookup: address, user: TestCloud.bob)
        try await withShare(engine, with: [first]) { test, share in
            // No account has the address.
            let third = ParticipantChange(id: "3", permission: .readWrite, lookup: address)
            let invited = try await test.changeShare("Share-Root", ShareChange(participants: [first, third]))
            #expect(invited.record?.sharing?.participants.dropFirst().map(\.id) == ["1", "3"])
            _ = try await test.changeShare("Share-Root", ShareChange(participants: [first]))
            let second = ParticipantChange(id: "2", permission: .readWrite, lookup: address, user: TestCloud.cyd)
            let changed = try await test.changeShare("Share-Root", ShareChange(participants: [first, second]))
            let users = changed.record?.sharing?.participants.map(\.identity.user)
            #expect(users == [TestCloud.ada, TestCloud.bob, TestCloud.cyd])
            #expect(try await test.accept(share.shortGUID, by: TestCloud.cyd).invitation?.acceptance == .accepted)
            // Without a user it is the member who has that address.
            let member = try await test.changeShare("Share-Root", ShareChange(participants: [second, third]))
            #expect(member.record?.sharing?.participants.map(\.id).count == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-PRT-07, B-PRT-08 administrators edit and see all participants, others do neither`(_ engine: Engine)
        async throws
    {
        let people = [invite(TestCloud.bob, role: .administrator), invite(TestCloud.cyd), invite(TestCloud.dan)]
        try await withShare(engine, with: people) { test, share in
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            try await test.accept(share.shortGUID, by: TestCloud.cyd)
            let forAdministrator = try await test.share("Share-Root", by: TestCloud.bob)
            #expect(forAdministrator?.participants.count == 4)
            #expect(forAdministrator?.currentParticipant?.role == .administrator)
            let forMember = try await test.share("Share-Root", by: TestCloud.cyd)
            #expect(
                forMember?.participants.map(\.identity.user) == [TestCloud.ada, TestCloud.bob, TestCloud.cyd])
            let denied = try await test.changeShare("Share-Root", ShareChange(participants: []), by: TestCloud.cyd)
            #expect(denied.code == .accessDenied)
            let kept = [invite(TestCloud.bob, role: .administrator), invite(TestCloud.cyd, .readOnly)]
            let edited = try await test.changeShare("Share-Root", ShareChange(participants: kept), by: TestCloud.bob)
            #expect(edited.record?.sharing?.participants.count == 3)
            // Owners stay owners.
            let usurped = try await test.changeShare(
                "Share-Root", ShareChange(participants: [invite(TestCloud.bob, role: .owner)]), by: TestCloud.bob)
            #expect(usurped.code == .badRequest)
        }
    }

    @Test func `B-SHN-01 the first user of a one-time link becomes the participant`() async throws {
        try await withShare(with: [ParticipantChange(permission: .readWrite, isOneTime: true)]) { test, share in
            let guid = try #require(share.sharing?.participants.last?.oneTimeGUID)
            #expect(guid != share.shortGUID)
            #expect(try await test.resolve(share.shortGUID, by: TestCloud.bob).code == .itemNotFound)
            #expect(try await test.resolve(guid, by: TestCloud.bob).invitation?.acceptance == .pending)
            #expect(try await test.accept(guid, by: TestCloud.bob).invitation?.acceptance == .accepted)
            #expect(try await test.accept(guid, by: TestCloud.cyd).code == .accessDenied)
            #expect(try await test.resolve(guid, by: TestCloud.cyd).code == .itemNotFound)
            #expect(try await test.share("Share-Root")?.participants.last?.oneTimeGUID == nil)
            #expect(try await test.resolve(share.shortGUID, by: TestCloud.bob).invitation?.acceptance == .accepted)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SHN-01, B-PRT-06 a user invited by address who opens a one-time link is one participant`(_ engine: Engine)
        async throws
    {
        let people = [
            ParticipantChange(permission: .readOnly, isOneTime: true),
            ParticipantChange(permission: .readWrite, lookup: LookupInfo(emailAddress: "bea@example.com")),
            ParticipantChange(permission: .readWrite, lookup: LookupInfo(emailAddress: "cyd@example.com")),
        ]
        try await withShare(engine, with: people) { test, share in
            let slot = try #require(share.sharing?.participants.first { $0.oneTimeGUID != nil })
            let bea = try await account("bea@example.com", "Bea", test)
            let accepted = try await test.accept(slot.oneTimeGUID, by: bea).invitation
            #expect(accepted?.acceptance == .accepted && accepted?.permission == .readWrite)
            let left = try #require(try await test.share("Share-Root")).participants.dropFirst()
            #expect(left.map(\.id).contains(slot.id) && left.map(\.identity.user) == [bea, nil])
            // A new invitation for the address finds the participant.
            let again = try await test.changeShare(
                "Share-Root", ShareChange(participants: Array(people.dropFirst())))
            #expect(again.record?.sharing?.participants.count == 3)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-PRT-06 an administrator invited by address stays one who opens a one-time link`(_ engine: Engine)
        async throws
    {
        let people = [
            ParticipantChange(permission: .readOnly, isOneTime: true),
            ParticipantChange(role: .administrator, lookup: LookupInfo(emailAddress: "bea@example.com")),
        ]
        try await withShare(engine, with: people) { test, share in
            let slot = try #require(share.sharing?.participants.first { $0.oneTimeGUID != nil })
            let bea = try await account("bea@example.com", "Bea", test)
            let accepted = try await test.accept(slot.oneTimeGUID, by: bea).invitation
            #expect(accepted?.role == .administrator && accepted?.permission == .readWrite)
            let participants = try await test.share("Share-Root")?.participants ?? []
            #expect(participants.map(\.role) == [.owner, .administrator])
        }
    }

    @Test func `B-DB-01, B-ACP-02 a link of one environment leads nowhere in the other`() async throws {
        try await withShare(permission: .readWrite) { test, share in
            try await test.changeShare("Share-Root", ShareChange(allowsAccessRequests: true))
            let request = ShareInvitationRequest(shortGUID: try #require(share.shortGUID))
            let address = TestCloud.address(.public, .production)
            let caller = Caller(user: TestCloud.bob)
            #expect(
                try await ResolveShares(test.cloud).run([request], in: address, by: caller)[0].code == .itemNotFound)
            #expect(try await AcceptShares(test.cloud).run([request], in: address, by: caller)[0].code == .itemNotFound)
            _ = try await RequestShareAccess(test.cloud).run([request], in: address, by: Caller(user: TestCloud.cyd))
            #expect(try await test.share("Share-Root")?.participants.count == 1)
            #expect(try await test.share("Share-Root")?.requesters.isEmpty == true)
            #expect(try await test.resolve(share.shortGUID, by: TestCloud.bob).invitation?.environment == .development)
        }
    }

    @Test func `a participant without an identity is refused`() async throws {
        try await withShare { test, _ in
            for nobody in [ParticipantChange(permission: .readWrite), ParticipantChange(lookup: LookupInfo())] {
                let refused = try await test.changeShare("Share-Root", ShareChange(participants: [nobody]))
                #expect(refused.failure?.reason == "a participant needs an identity")
            }
            #expect(try await test.share("Share-Root")?.participants.count == 1)
        }
    }

    @Test func `B-SHN-02, B-SHN-03, B-SHN-04 asking for access, being let in, denied and blocked`() async throws {
        try await withShare(with: [invite(TestCloud.bob)]) { test, share in
            func ask(_ user: UserID) async throws -> RequestFailure.Code? {
                try await RequestShareAccess(test.cloud).run(
                    [ShareInvitationRequest(shortGUID: share.shortGUID ?? "")], in: TestCloud.address(.public),
                    by: Caller(user: user))[0]?.code
            }
            #expect(try await ask(TestCloud.cyd) == nil)
            #expect(try await test.share("Share-Root")?.requesters.isEmpty == true)
            try await test.changeShare("Share-Root", ShareChange(allowsAccessRequests: true))
            #expect(try await ask(TestCloud.bob) == .participantAlreadyInvited)
            #expect(try await ask(TestCloud.cyd) == nil)
            #expect(try await ask(TestCloud.dan) == nil)
            #expect(try await test.share("Share-Root")?.requesters.map(\.user) == [TestCloud.cyd, TestCloud.dan])
            try await test.changeShare("Share-Root", ShareChange(denied: [TestCloud.dan]))
            #expect(try await ask(TestCloud.dan) == nil)
            try await test.changeShare("Share-Root", ShareChange(blocked: [TestCloud.dan]))
            #expect(try await ask(TestCloud.dan) == nil)
            let approved = try await test.changeShare(
                "Share-Root", ShareChange(participants: [invite(TestCloud.bob), invite(TestCloud.cyd)])
            ).record?.sharing
            #expect(approved?.requesters.isEmpty == true)
            #expect(approved?.blocked.map(\.user) == [TestCloud.dan])
            #expect(approved?.participants.last?.isApprovedRequester == true)
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            #expect(try await test.share("Share-Root", by: TestCloud.bob)?.blocked.isEmpty == true)
            // Blocking removes the participant as well.
            try await test.changeShare("Share-Root", ShareChange(blocked: [TestCloud.bob]))
            await expect(.zoneNotFound) { _ = try await test.sharedLookup(["In"], by: TestCloud.bob) }
            let unblocked = try await test.changeShare("Share-Root", ShareChange(unblocked: [TestCloud.bob]))
            #expect(unblocked.record?.sharing?.blocked.map(\.user) == [TestCloud.dan])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ACP-06, B-ACP-07 deleting the share, its root or the zone is leaving`(_ engine: Engine) async throws {
        try await withShare(engine, with: [invite(TestCloud.bob)]) { test, share in
            let leave: [(TestCloud) async throws -> Void] = [
                { try await $0.modify([delete("Share-Root")], of: TestCloud.ada, by: TestCloud.bob) },
                { try await $0.modify([delete("Root")], of: TestCloud.ada, by: TestCloud.bob) },
                {
                    _ = try await ModifyZones($0.cloud).run(
                        [.delete(ZoneID(zoneName: "Z", owner: TestCloud.ada))], in: TestCloud.address(.shared),
                        by: Caller(user: TestCloud.bob))
                },
            ]
            for leave in leave {
                try await test.changeShare("Share-Root", ShareChange(participants: [invite(TestCloud.bob)]))
                try await test.accept(share.shortGUID, by: TestCloud.bob)
                try await leave(test)
                await expect(.zoneNotFound) { _ = try await test.sharedLookup(["In"], by: TestCloud.bob) }
                let kept = try await test.lookup(["Root", "In", "Share-Root"])
                #expect(kept.allSatisfy { $0.record != nil })
                #expect(try await test.share("Share-Root")?.participants.count == 1)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ACP-06 leaving a share and deleting in one request deletes nothing of the owner's`(_ engine: Engine)
        async throws
    {
        for isZoneWide in [false, true] {
            try await withCloud(engine) { test in
                try await test.makeZone()
                try await test.modify([create("Root"), create("In", parent: .set(recordName: "Root"))])
                let share =
                    isZoneWide
                    ? try await test.shareZone(with: [invite(TestCloud.bob)])
                    : try await test.shareTree("Root", with: [invite(TestCloud.bob)])
                try await test.accept(share.shortGUID, by: TestCloud.bob)
                let outcomes = try await test.modify(
                    [delete("In"), delete(share.id.recordName)], of: TestCloud.ada, atomic: true, by: TestCloud.bob)
                #expect(outcomes.map(\.isDeleted) == [true, true])
                await expect(.zoneNotFound) { _ = try await test.sharedLookup(["In"], by: TestCloud.bob) }
                #expect(try await test.record("In") != nil)
                #expect(try await test.share(share.id.recordName)?.participants.count == 1)
            }
        }
    }

    @Test func `B-PRT-12, B-PRT-13 members reach nothing outside, by no road`() async throws {
        try await withShare(with: [invite(TestCloud.bob)]) { test, share in
            try await test.modify([
                create("Owned", "Note", reference("owner", to: "In", .deleteSelf)), create("Free"),
            ])
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            func attempt(_ operation: RecordOperation) async throws -> RequestFailure.Code? {
                try await test.modify([operation], of: TestCloud.ada, by: TestCloud.bob)[0].code
            }
            let inTree = ParentChange.set(recordName: "In")
            #expect(try await attempt(create("A")) == .accessDenied)
            #expect(try await attempt(create("A", parent: .set(recordName: "Out"))) == .accessDenied)
            #expect(try await attempt(create("A", parent: .set(recordName: "Nothing"))) == .accessDenied)
            #expect(try await attempt(save(.forceUpdate, "Out", parent: inTree)) == .accessDenied)
            #expect(try await attempt(save(.update, "Out", tag: ChangeTag("1"), text("t", "x"))) == .itemNotFound)
            #expect(try await attempt(save(.forceUpdate, "In", parent: .remove)) == .accessDenied)
            #expect(try await attempt(create("Out", parent: inTree)) == .accessDenied)
            // References that would hold or find out something outside.
            for action in [ReferenceValue.Action.validate, .deleteSelf] {
                for target in ["Out", "Nothing"] {
                    let field = reference("f", to: target, action)
                    #expect(try await attempt(create("A", "Note", field, parent: inTree)) == .accessDenied)
                }
            }
            #expect(
                try await attempt(create("A", "Note", reference("f", to: "Root", .validate), parent: inTree)) == nil)
            // A deletion that would take the owner's other records along.
            try await test.modify([delete("A")])
            #expect(try await attempt(delete("In")) == .accessDenied)
            #expect(try await test.record("Owned") != nil)
            let share = createShare("Mine", ShareChange(root: .init(recordName: "In")))
            #expect(try await attempt(share) == .accessDenied)
        }
    }
}
