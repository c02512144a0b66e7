import CloudKitEncryption
import CloudKitModel
import CloudKitServer
import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Administrators hand keys out and begin epochs as the owner does, without waiting for a device of the owner's.
@Suite(.timeLimit(.minutes(20))) struct AdministratorsTests {
    /// Ada's folder, or its zone, shared with Ben, an administrator, with Cat, and with more.
    private func share(
        with more: [String], wholeZone: Bool = false, _ home: SharingHousehold
    ) async throws -> (zone: CKRecordZone.ID, theirs: CKRecordZone.ID, share: CKRecord.ID, url: URL?) {
        let (zone, folder, _) = try await home.makeFolder()
        let share = wholeZone ? CKShare(recordZoneID: zone) : CKShare(rootRecord: folder)
        try await home.invite(["ben"], to: share)
        share.participants.last?.role = .administrator
        try await home.invite(["cat"] + more, to: share)
        let saved =
            wholeZone
            ? try asShare(try await home.ada.privateCloudDatabase.save(share))
            : try await home.save(share, with: folder)
        try await home.accept(saved.url, on: home.ben)
        try await home.accept(saved.url, on: home.cat)
        return (zone, try await home.shared(zone), saved.recordID, saved.url)
    }

    private func note(_ name: String, in zone: CKRecordZone.ID) -> CKRecord {
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        note.encryptedValues["secret"] = "secret of \(name)"
        note.setParent(CKRecord.ID(recordName: "Folder", zoneID: zone))
        return note
    }

    @Test func `B-TM-06 an administrator's device gives the key to a participant who waits for one`() async throws {
        try await SharingHousehold.run { home in
            let shared = try await share(with: ["dora"], home)
            let dora = try await home.newcomer("dora")
            try await home.accept(shared.url, on: dora.container)
            let database = dora.container.sharedCloudDatabase
            await #expect(throws: CKError.self) { try await secret("One", in: shared.theirs, database) }
            let id = CKRecord.ID(recordName: shared.share.recordName, zoneID: shared.theirs)
            // Another member looks: nothing happens. The administrator's next device does: the key is there.
            _ = try await home.cat.sharedCloudDatabase.record(for: id)
            await #expect(throws: CKError.self) { try await secret("One", in: shared.theirs, database) }
            let again = try await home.device(of: "ben")
            _ = try await again.container.sharedCloudDatabase.record(for: id)
            #expect(try await secret("One", in: shared.theirs, database) == "secret of One")
            try await database.save(note("Dora's", in: shared.theirs))
            #expect(
                try await secret("Dora's", in: shared.zone, home.ada.privateCloudDatabase) == "secret of Dora's")
        }
    }

    @Test func `B-PRT-07, B-TM-06 a later administrator gets the right to invite from the owner's device`()
        async throws
    {
        try await SharingHousehold.run { home in
            let shared = try await share(with: ["dora"], home)
            let id = CKRecord.ID(recordName: shared.share.recordName, zoneID: shared.theirs)
            // Cat's device has the key already when she is made an administrator.
            #expect(try await secret("One", in: shared.theirs, home.cat.sharedCloudDatabase) == "secret of One")
            let current = try asShare(try await home.ada.privateCloudDatabase.record(for: shared.share))
            let cat = try #require(
                current.participants.first { $0.userIdentity.lookupInfo?.emailAddress == "cat@example.com" })
            cat.role = .administrator
            try await home.ada.privateCloudDatabase.save(current)
            let dora = try await home.newcomer("dora")
            try await home.accept(shared.url, on: dora.container)
            let database = dora.container.sharedCloudDatabase
            await #expect(throws: CKError.self) { try await secret("One", in: shared.theirs, database) }
            _ = try await home.cat.sharedCloudDatabase.record(for: id)
            #expect(try await secret("One", in: shared.theirs, database) == "secret of One")
        }
    }

    /// A network on which keys of shares do not reach the cloud.
    private struct WithoutShareKeys: Transport {
        func send(_ request: TransportRequest) async throws -> TransportResponse {
            if request.url.path.hasSuffix("/shares/keys/store") { throw TransportFailure.unreachable }
            return try await HTTPTransport.shared.send(request)
        }
    }

    @Test func `B-PRT-07, B-TM-06 an administrator whose right has not come raises no permission`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let saved = try await home.share(folder, with: ["ben", "cat"], permission: .readOnly)
            for device in [home.ben, home.cat] { try await home.accept(saved.url, on: device) }
            func participant(_ name: String, _ share: CKShare) throws -> CKShare.Participant {
                try #require(
                    share.participants.first { $0.userIdentity.lookupInfo?.emailAddress == name + "@example.com" })
            }
            // The right to invite comes after the role, and does not come from this device.
            let other = try await home.device(of: "ada", over: WithoutShareKeys())
            let own = try asShare(try await other.container.privateCloudDatabase.record(for: saved.recordID))
            try participant("ben", own).role = .administrator
            try participant("ben", own).permission = .readWrite
            try await other.container.privateCloudDatabase.save(own)

            let theirs = CKRecord.ID(recordName: saved.recordID.recordName, zoneID: try await home.shared(zone))
            let ben = home.ben.sharedCloudDatabase
            let seen = try asShare(try await ben.record(for: theirs))
            #expect(seen.currentUserParticipant?.role == .administrator)
            try participant("cat", seen).permission = .readWrite
            let error = await expect(.zoneBusy) { try await ben.save(seen) }
            #expect(error?.retryAfterSeconds != nil)
            // A device of the owner's gives it.
            _ = try await home.ada.privateCloudDatabase.record(for: saved.recordID)
            let again = try asShare(try await ben.record(for: theirs))
            try participant("cat", again).permission = .readWrite
            try await ben.save(again)
            for database in [home.ada.privateCloudDatabase, home.cat.sharedCloudDatabase] {
                let id = database.databaseScope == .private ? saved.recordID : theirs
                let share = try asShare(try await database.record(for: id))
                #expect(try participant("cat", share).permission == .readWrite)
            }
        }
    }

    private func sharing(_ id: CKRecord.ID, _ database: CKDatabase) async throws -> ShareKeys? {
        try await database.requests().looked(at: [id.recordName], in: id.zoneID.model).first?.sharing?.keys
    }

    @Test(arguments: [false, true])
    func `B-TM-05 an administrator who removes a participant begins the next epoch, and one of the owner's follows`(
        wholeZone: Bool
    ) async throws {
        try await SharingHousehold.run { home in
            let doras = try await home.newcomer("dora")
            let shared = try await share(with: ["dora"], wholeZone: wholeZone, home)
            try await home.accept(shared.url, on: doras.container)
            let theirShare = CKRecord.ID(recordName: shared.share.recordName, zoneID: shared.theirs)
            let (ben, cat, dora) = (
                home.ben.sharedCloudDatabase, home.cat.sharedCloudDatabase, doras.container.sharedCloudDatabase
            )
            for database in [ben, cat, dora] {
                #expect(try await secret("One", in: shared.theirs, database) == "secret of One")
            }
            var spy = try await Spy(home.cat, zone: shared.theirs)
            try await home.remove("cat", from: theirShare, by: home.ben)
            // No device of the owner's has been there.
            let epochs = try #require(try await sharing(theirShare, ben))
            #expect(epochs.epoch == 2)
            #expect(epochs.needsNewEpoch == false)
            try await write("new One", to: "One", in: shared.theirs, ben)
            try await ben.save(note("Ben's", in: shared.theirs))
            try await dora.save(note("Dora's", in: shared.theirs))
            let bens = try await home.device(of: "ben")
            for database in [ben, dora, bens.container.sharedCloudDatabase] {
                #expect(try await secret("One", in: shared.theirs, database) == "new One")
                #expect(try await secret("Two", in: shared.theirs, database) == "secret of Two")
                for name in ["Ben's", "Dora's"] {
                    #expect(try await secret(name, in: shared.theirs, database) == "secret of \(name)")
                }
            }
            let names = ["One", "Two", "Ben's", "Dora's"]
            func hostile() async throws -> [Record] {
                try await ben.requests().looked(at: names + ["Folder", theirShare.recordName], in: shared.theirs.model)
            }
            spy.take(try await hostile())
            #expect(spy.opened(try await hostile()) == ["Folder", "Two"])

            // The owner opens it all, and follows with an epoch of her own before she seals anything.
            let ada = home.ada.privateCloudDatabase
            try await ada.save(note("Ada's", in: shared.zone))
            let again = try await home.device(of: "ada")
            for database in [ada, again.container.privateCloudDatabase] {
                #expect(try await secret("One", in: shared.zone, database) == "new One")
                for name in ["Ben's", "Dora's", "Ada's"] {
                    #expect(try await secret(name, in: shared.zone, database) == "secret of \(name)")
                }
            }
            #expect(try await sharing(theirShare, ben)?.epoch == 3)
            #expect(try await secret("Ada's", in: shared.theirs, dora) == "secret of Ada's")
            try await write("newer One", to: "One", in: shared.theirs, dora)
            #expect(try await secret("One", in: shared.zone, ada) == "newer One")
            // A later participant reads values written in between.
            let current = try asShare(try await ada.record(for: shared.share))
            try await home.invite(["erin"], to: current)
            try await ada.save(current)
            let erins = try await home.newcomer("erin")
            try await home.accept(shared.url, on: erins.container)
            _ = try await ada.record(for: shared.share)
            for name in ["Two", "Ben's", "Dora's", "Ada's"] {
                #expect(
                    try await secret(name, in: shared.theirs, erins.container.sharedCloudDatabase)
                        == "secret of \(name)")
            }
        }
    }

    @Test func `B-TM-05 the right of an administrator whose account is disabled is not ended by the next epoch`()
        async throws
    {
        try await SharingHousehold.run { home in
            let dora = try await home.newcomer("dora")
            let shared = try await share(with: ["dora"], home)
            try await home.accept(shared.url, on: dora.container)
            let theirs = CKRecord.ID(recordName: shared.share.recordName, zoneID: shared.theirs)
            let share = try asShare(try await home.ada.privateCloudDatabase.record(for: shared.share))
            let cat = try #require(
                share.participants.first { $0.userIdentity.lookupInfo?.emailAddress == "cat@example.com" })
            cat.role = .administrator
            try await home.ada.privateCloudDatabase.save(share)
            for device in [home.ben, home.cat] {
                let seen = try asShare(try await device.sharedCloudDatabase.record(for: theirs))
                #expect(seen.currentUserParticipant?.role == .administrator)
            }
            // The cloud shows no keys of a disabled account.
            let accounts = home.cloud.accountStore.accounts
            try await accounts.setDisabled(true, email: "cat@example.com")
            try await home.remove("dora", from: theirs, by: home.ben)
            #expect(try await sharing(theirs, home.ben.sharedCloudDatabase)?.epoch == 2)
            try await accounts.setDisabled(false, email: "cat@example.com")
            // She gets the newest key.
            _ = try await home.ben.sharedCloudDatabase.record(for: theirs)
            try await home.remove("ben", from: theirs, by: home.cat)
            #expect(try await sharing(theirs, home.cat.sharedCloudDatabase)?.epoch == 3)
            let again = try await home.device(of: "ada")
            for database in [home.ada.privateCloudDatabase, again.container.privateCloudDatabase] {
                #expect(try asShare(try await database.record(for: shared.share)).participants.count == 2)
            }
        }
    }

    @Test(arguments: [false, true])
    func `B-TM-05, B-ACP-08 values written in an administrator's epoch open for the owner when the share has ended`(
        wholeZone: Bool
    ) async throws {
        try await SharingHousehold.run { home in
            let shared = try await share(with: [], wholeZone: wholeZone, home)
            let theirShare = CKRecord.ID(recordName: shared.share.recordName, zoneID: shared.theirs)
            let ben = home.ben.sharedCloudDatabase
            #expect(try await secret("One", in: shared.theirs, ben) == "secret of One")
            try await home.remove("cat", from: theirShare, by: home.ben)
            try await ben.save(note("Ben's", in: shared.theirs))
            try await write("new One", to: "One", in: shared.theirs, ben)
            // Ada ends the share with a client that has no keys; none of her devices ever saw Ben's.
            let outcomes = try await ModifyRecords(home.cloud.cloud).run(
                ModifyRecordsRequest(
                    operations: [.init(.forceDelete, RecordChange(recordName: shared.share.recordName))],
                    zoneID: ZoneID(zoneName: shared.zone.zoneName)),
                in: DatabaseAddress(
                    container: ContainerID(home.cloud.container), environment: .development, scope: .private),
                by: Caller(user: UserID(try await home.ada.userRecordID().recordName), surface: .web))
            guard case .deleted? = outcomes.first else { throw CancellationError() }
            let again = try await home.device(of: "ada")
            let ada = again.container.privateCloudDatabase
            #expect(try await secret("Ben's", in: shared.zone, ada) == "secret of Ben's")
            #expect(try await secret("One", in: shared.zone, ada) == "new One")
            // She changes it, and shares it with others.
            try await write("mine", to: "Ben's", in: shared.zone, ada)
            let folder = try await ada.record(for: CKRecord.ID(recordName: "Folder", zoneID: shared.zone))
            let url = try await home.share(folder, with: ["cat"]).url
            try await home.accept(url, on: home.cat)
            let cat = home.cat.sharedCloudDatabase
            #expect(try await secret("Ben's", in: shared.theirs, cat) == "mine")
            #expect(try await secret("One", in: shared.theirs, cat) == "new One")
        }
    }

    @Test func `B-TM-05 the epoch that a client without keys makes due begins with an administrator's next device`()
        async throws
    {
        try await SharingHousehold.run { home in
            let doras = try await home.newcomer("dora")
            let shared = try await share(with: ["dora"], home)
            try await home.accept(shared.url, on: doras.container)
            let theirShare = CKRecord.ID(recordName: shared.share.recordName, zoneID: shared.theirs)
            // Dora leaves by a client without keys.
            _ = try await ModifyRecords(home.cloud.cloud).run(
                ModifyRecordsRequest(
                    operations: [.init(.forceDelete, RecordChange(recordName: shared.share.recordName))],
                    zoneID: ZoneID(
                        zoneName: shared.theirs.zoneName, owner: UserID(shared.theirs.ownerName))),
                in: DatabaseAddress(
                    container: ContainerID(home.cloud.container), environment: .development, scope: .shared),
                by: Caller(
                    user: UserID(try await doras.container.userRecordID().recordName), surface: .web))
            let (ben, cat) = (home.ben.sharedCloudDatabase, home.cat.sharedCloudDatabase)
            #expect(try await sharing(theirShare, ben)?.needsNewEpoch == true)
            // An ordinary member's look begins nothing.
            _ = try await cat.record(for: theirShare)
            #expect(try await sharing(theirShare, ben)?.needsNewEpoch == true)
            _ = try await ben.recordZoneChanges(inZoneWith: shared.theirs, since: nil)
            #expect(try await sharing(theirShare, ben)?.epoch == 2)
            try await cat.save(note("Cat's", in: shared.theirs))
            #expect(
                try await secret("Cat's", in: shared.zone, home.ada.privateCloudDatabase) == "secret of Cat's")
        }
    }

    /// Saves a record on the owner's device, for which Ben's page has to wait until that device looks at the share.
    private func checkPageWaits(
        after begin: (CKRecord.ID) async throws -> Void, _ home: SharingHousehold
    ) async throws {
        let shared = try await share(with: [], wholeZone: true, home)
        let (ada, ben) = (home.ada.privateCloudDatabase, home.ben.sharedCloudDatabase)
        try await begin(CKRecord.ID(recordName: shared.share.recordName, zoneID: shared.theirs))
        let token = try await ben.recordZoneChanges(inZoneWith: shared.theirs, since: nil).changeToken
        // The owner's device seals under the zone's key without a look at the share.
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "Ada's", zoneID: shared.zone))
        record.encryptedValues["secret"] = "secret of Ada's"
        try await ada.save(record)
        await expect(.zoneBusy) { _ = try await ben.recordZoneChanges(inZoneWith: shared.theirs, since: token) }
        _ = try await ada.record(for: shared.share)
        let page = try await ben.recordZoneChanges(inZoneWith: shared.theirs, since: token)
        let found = page.modificationResultsByID.values.compactMap { try? $0.get().record }
        #expect(found.first { $0.recordID.recordName == "Ada's" }?.encryptedValues["secret"] == "secret of Ada's")
    }

    @Test func `B-CHG-15 a page waits until the owner's device has begun an epoch after one of an administrator's`()
        async throws
    {
        try await SharingHousehold.run { home in
            try await checkPageWaits(after: { try await home.remove("cat", from: $0, by: home.ben) }, home)
        }
    }

    @Test func `B-CHG-15 a page waits until the owner's device has added a key of the zone to its share`() async throws
    {
        try await SharingHousehold.run { home in
            // As another save of the owner's does.
            try await checkPageWaits(
                after: { share in
                    let zone = CKRecordZone.ID(zoneName: share.zoneID.zoneName)
                    try await home.ada.privateCloudDatabase.requests().raiseKeyEpoch(of: zone.model)
                }, home)
        }
    }

    @Test func `B-TM-05 the administrator who began an epoch is removed like any participant`() async throws {
        try await SharingHousehold.run { home in
            let doras = try await home.newcomer("dora")
            let shared = try await share(with: ["dora"], home)
            try await home.accept(shared.url, on: doras.container)
            let theirShare = CKRecord.ID(recordName: shared.share.recordName, zoneID: shared.theirs)
            let (ben, dora) = (home.ben.sharedCloudDatabase, doras.container.sharedCloudDatabase)
            try await home.remove("cat", from: theirShare, by: home.ben)
            try await dora.save(note("Before", in: shared.theirs))
            #expect(try await secret("Before", in: shared.theirs, ben) == "secret of Before")
            var spy = try await Spy(home.ben, zone: shared.theirs)
            try await home.remove("ben", from: shared.share, by: home.ada)
            try await dora.save(note("After", in: shared.theirs))
            try await home.ada.privateCloudDatabase.save(note("Ada's", in: shared.zone))
            for name in ["Before", "After", "Ada's"] {
                #expect(try await secret(name, in: shared.theirs, dora) == "secret of \(name)")
                #expect(
                    try await secret(name, in: shared.zone, home.ada.privateCloudDatabase) == "secret of \(name)")
            }
            let raw = try await dora.requests().looked(
                at: ["Before", "After", "Ada's", theirShare.recordName], in: shared.theirs.model)
            spy.take(raw)
            #expect(spy.opened(raw) == ["Before"])
        }
    }

    @Test
    func `B-TM-05, B-PRT-04 an administrator who closes the link begins an epoch that users of the link cannot open`()
        async throws
    {
        try await SharingHousehold.run { home in
            let doras = try await home.newcomer("dora")
            let shared = try await share(with: [], home)
            let theirShare = CKRecord.ID(recordName: shared.share.recordName, zoneID: shared.theirs)
            let (ada, ben, cat) = (
                home.ada.privateCloudDatabase, home.ben.sharedCloudDatabase, home.cat.sharedCloudDatabase
            )
            let open = try asShare(try await ada.record(for: shared.share))
            open.publicPermission = .readWrite
            try await home.accept(asShare(try await ada.save(open)).url, on: doras.container)
            let dora = doras.container.sharedCloudDatabase
            #expect(try await secret("One", in: shared.theirs, dora) == "secret of One")
            var spy = try await Spy(doras.container, zone: shared.theirs)

            let closed = try asShare(try await ben.record(for: theirShare))
            closed.publicPermission = .none
            try await ben.save(closed)
            let keys = try #require(try await sharing(theirShare, ben))
            #expect(keys.epoch == 2 && !keys.needsNewEpoch)
            try await ben.save(note("After", in: shared.theirs))
            #expect(try await secret("After", in: shared.theirs, cat) == "secret of After")
            #expect(try await secret("After", in: shared.zone, ada) == "secret of After")
            let raw = try await ben.requests().looked(
                at: ["One", "After", theirShare.recordName], in: shared.theirs.model)
            spy.take(raw)
            #expect(spy.opened(raw) == ["One"])
        }
    }

    @Test func `B-TM-05 the right of an administrator removed by another one ends for members with the removal`()
        async throws
    {
        try await SharingHousehold.run { home in
            let doras = try await home.newcomer("dora")
            let shared = try await share(with: ["dora"], home)
            let ada = home.ada.privateCloudDatabase
            let current = try asShare(try await ada.record(for: shared.share))
            current.participants.last?.role = .administrator
            try await ada.save(current)
            try await home.accept(shared.url, on: doras.container)
            let (ben, cat, dora) = (
                home.ben.sharedCloudDatabase, home.cat.sharedCloudDatabase, doras.container.sharedCloudDatabase
            )
            for database in [ben, cat, dora] {
                #expect(try await secret("One", in: shared.theirs, database) == "secret of One")
            }
            let doraKeys = try await dora.requests().zoneKeys(shared.theirs.model)
            let right = try #require(doraKeys.shared.authorities[shared.share.recordName])
            let theirShare = CKRecord.ID(recordName: shared.share.recordName, zoneID: shared.theirs)
            try await home.remove("dora", from: theirShare, by: home.ben)

            // Dora invites Cat into an epoch of her own making, and the server helps. No device of the owner's has been there.
            let sharing = try await cat.requests().looked(
                at: [theirShare.recordName], in: shared.theirs.model
            ).first?.sharing
            let slot = try #require(sharing?.currentParticipantID)
            let place = RecordAddress(zone: doraKeys.place, name: theirShare.recordName)
            let cats = try await cat.requests().zoneKeys(shared.theirs.model).access
            let invitation = try SealedShareInvitation(
                ShareKey(madeFor: place, epoch: 3), to: slot, identity: cats.secret.identity().publicIdentity,
                by: doraKeys.access.user, with: doraKeys.access.secret.identity(), authority: right)
            // A participant who knows of the removal refuses her invitation, also after a restart.
            _ = try await cat.record(for: theirShare)
            let refusal = CallFailure.tampered(
                EncryptionError.rightEnded(.invitation(share: place.name)).description)
            let keys = home.cat.connection.keys
            #expect(throws: refusal) { try keys.open(invitation, slot: slot, as: cats) }
            // A participant invited by an administrator from now on learns of it with the invitation.
            let again = try await home.device(of: "cat")
            _ = try await again.container.sharedCloudDatabase.record(for: theirShare)
            #expect(throws: refusal) { try again.container.connection.keys.open(invitation, slot: slot, as: cats) }

            // The others go on, and the owner can give the right again.
            try await ben.save(note("Ben's", in: shared.theirs))
            #expect(try await secret("Ben's", in: shared.theirs, cat) == "secret of Ben's")
            let next = try asShare(try await ada.record(for: shared.share))
            try await home.invite(["dora"], to: next)
            next.participants.last?.role = .administrator
            try await ada.save(next)
            try await home.accept(shared.url, on: doras.container)
            #expect(try await secret("Ben's", in: shared.theirs, dora) == "secret of Ben's")
            try await home.remove("cat", from: theirShare, by: doras.container)
            try await dora.save(note("Dora's", in: shared.theirs))
            #expect(try await secret("Dora's", in: shared.theirs, ben) == "secret of Dora's")
        }
    }
}
