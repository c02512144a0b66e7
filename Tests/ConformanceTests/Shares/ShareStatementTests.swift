import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import CloudKitServer
import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// A cloud that describes shares otherwise than their owner made them: nobody gets a key for that.
@Suite(.timeLimit(.minutes(20))) struct ShareStatementTests {
    /// Changes records in Ada's zone as only her cloud, or a client of hers without keys, could.
    private func invent(
        _ operation: RecordOperation, in zone: CKRecordZone.ID, _ home: SharingHousehold
    ) async throws -> Record {
        let ada = UserID(try await home.ada.userRecordID().recordName)
        let outcomes = try await ModifyRecords(home.cloud.cloud).run(
            ModifyRecordsRequest(operations: [operation], zoneID: ZoneID(zoneName: zone.zoneName)),
            in: DatabaseAddress(
                container: ContainerID(home.cloud.container), environment: .development, scope: .private),
            by: Caller(user: ada, surface: .web))
        guard case .record(let record)? = outcomes.first else {
            Issue.record("\(outcomes)")
            throw CancellationError()
        }
        return record
    }

    /// Changes a share of Ada's as her cloud could.
    private func invent(_ change: ShareChange, of share: CKRecord.ID, _ home: SharingHousehold) async throws {
        let record = try #require(try await raw(share, home))
        _ = try await invent(record.update(change), in: share.zoneID, home)
    }

    private func raw(_ share: CKRecord.ID, _ home: SharingHousehold) async throws -> Record? {
        try await home.ada.privateCloudDatabase.requests().looked(at: [share.recordName], in: share.zoneID.model).first
    }

    private func store(_ change: ShareKeyChange, of share: CKRecord.ID, _ home: SharingHousehold) async throws {
        let ada = UserID(try await home.ada.userRecordID().recordName)
        _ = try await StoreShareKeys(home.cloud.cloud).run(
            StoreShareKeysRequest(
                zoneID: ZoneID(zoneName: share.zoneID.zoneName), recordName: share.recordName, change: change),
            in: DatabaseAddress(
                container: ContainerID(home.cloud.container), environment: .development, scope: .private),
            by: Caller(user: ada))
    }

    private func user(_ container: CKContainer) async throws -> UserID {
        UserID(try await container.userRecordID().recordName)
    }

    private func waits(_ name: String, in zone: CKRecordZone.ID, _ database: CKDatabase) async throws -> Bool {
        do {
            _ = try await secret(name, in: zone, database)
            return false
        } catch let error as CKError {
            return error.localizedDescription.contains("waiting for key")
        }
    }

    private func isRefused(_ share: CKRecord.ID, on database: CKDatabase) async -> Bool {
        do {
            _ = try await database.record(for: share)
            return false
        } catch {
            let text = (error as? CKError)?.localizedDescription ?? ""
            return text.contains("statement of share") || text.contains("the public key of")
        }
    }

    private func participants(_ share: CKRecord.ID, _ home: SharingHousehold) async throws -> [ShareParticipant] {
        try await raw(share, home)?.sharing?.participants ?? []
    }

    @Test(arguments: [false, true])
    func `B-TM-06 a ghost participant of an invented share gets no key`(wholeZone: Bool) async throws {
        try await SharingHousehold.run { home in
            let (zone, _, _) = try await home.makeFolder()
            let ghost = try await user(home.cat)
            let name = wholeZone ? Share.zoneWideName : "Invented"
            let change = ShareChange(
                root: wholeZone ? nil : .init(recordName: "Folder"),
                participants: [ParticipantChange(permission: .readWrite, user: ghost)])
            let share = try await invent(
                .init(.create, RecordChange(recordName: name, recordType: "cloudkit.share", share: change)), in: zone,
                home)
            let ada = home.ada.privateCloudDatabase
            _ = try await ada.recordZoneChanges(inZoneWith: zone, since: nil)
            try await write("later", to: "One", in: zone, ada)
            let id = CKRecord.ID(recordName: name, zoneID: zone)
            #expect(try await raw(id, home)?.sharing?.keys == nil)
            #expect(try await participants(id, home).allSatisfy { $0.keyEpoch == nil })
            let url = try #require(URL(string: home.cloud.endpoint + "/share/" + (share.shortGUID ?? "")))
            try await home.accept(url, on: home.cat)
            #expect(try await waits("One", in: home.shared(zone), home.cat.sharedCloudDatabase))
            // The user is asked, and may confirm.
            let profile = home.signedIn.ada.configuration.deviceProfile
            let questions = try profile.shareQuestions().open
            #expect(questions.map(\.participant).count == 1)
            #expect(questions.first?.fingerprint != nil)
        }
    }

    @Test func `B-TM-06 a ghost in a share of the user's own gets no key, and the others keep theirs`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let before = try await participants(share.recordID, home).filter { $0.role != .owner }
            let kept = before.map { ParticipantChange(id: $0.id, role: $0.role, permission: $0.permission) }
            let ghost = ParticipantChange(permission: .readOnly, user: try await user(home.cat))
            try await invent(ShareChange(participants: kept + [ghost]), of: share.recordID, home)
            let ada = home.ada.privateCloudDatabase
            // The app sees the ghost among the participants, and saves the share for another reason.
            let seen = try asShare(try await ada.record(for: share.recordID))
            #expect(seen.participants.count == 3)
            let bens = seen.participants.first { $0.userIdentity.lookupInfo?.emailAddress == "ben@example.com" }
            bens?.permission = .readOnly
            try await ada.save(seen)
            let now = try await participants(share.recordID, home)
            #expect(now.filter { $0.keyEpoch != nil && $0.role != .owner }.map(\.id) == before.map(\.id))
            try await home.accept(share.url, on: home.cat)
            let theirs = try await home.shared(zone)
            #expect(try await waits("One", in: theirs, home.cat.sharedCloudDatabase))
            #expect(try await secret("One", in: theirs, home.ben.sharedCloudDatabase) == "secret of One")

            // Confirmed on Ada's device, Cat gets the key.
            let profile = home.signedIn.ada.configuration.deviceProfile
            let questions = try profile.shareQuestions().open
            #expect(questions.count == 1)
            try profile.confirm(questions)
            _ = try await ada.record(for: share.recordID)
            #expect(try await secret("One", in: theirs, home.cat.sharedCloudDatabase) == "secret of One")
            #expect(try profile.shareQuestions() == ShareQuestions())
        }
    }

    enum Lie: String, CaseIterable { case permission, role, open }

    @Test(arguments: Lie.allCases)
    func `B-TM-06 a share of which the cloud says more than was stated is an error`(_ lie: Lie) async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"], permission: .readOnly)
            try await home.accept(share.url, on: home.ben)
            let ada = home.ada.privateCloudDatabase
            #expect(try await ada.record(for: share.recordID) is CKShare)
            let ben = try #require(try await participants(share.recordID, home).first { $0.role != .owner })
            let change =
                switch lie {
                case .permission: ShareChange(participants: [ParticipantChange(id: ben.id, permission: .readWrite)])
                case .role: ShareChange(participants: [ParticipantChange(id: ben.id, role: .administrator)])
                case .open: ShareChange(publicPermission: .readOnly)
                }
            try await invent(change, of: share.recordID, home)
            let theirs = CKRecord.ID(
                recordName: share.recordID.recordName, zoneID: try await home.shared(share.recordID.zoneID))
            #expect(await isRefused(share.recordID, on: ada))
            #expect(await isRefused(theirs, on: home.ben.sharedCloudDatabase))
            let raw = try #require(try await raw(share.recordID, home)?.sharing)
            #expect(raw.keys?.epochs.first?.link == nil)
            #expect(raw.participants.allSatisfy { $0.grantEpoch == nil })
            // Right after all: the owner confirms.
            let profile = home.signedIn.ada.configuration.deviceProfile
            let questions = try profile.shareQuestions().open
            #expect(questions.count == 1)
            try profile.confirm(questions)
            _ = try? await ada.record(for: share.recordID)
            #expect(try await ada.record(for: share.recordID) is CKShare)
            #expect(try await home.ben.sharedCloudDatabase.record(for: theirs) is CKShare)
        }
    }

    enum Forgery: String, CaseIterable { case older, otherShare, otherSigner, stripped, garbage }

    @Test(arguments: Forgery.allCases)
    func `B-TM-06 a statement that is not the newest one of a host is refused`(_ forgery: Forgery) async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let ada = home.ada.privateCloudDatabase
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let old = try #require(try await raw(share.recordID, home)?.sharing?.newestKeys)
            try await home.permit("ben", .readOnly, in: share.recordID)
            let theirs = CKRecord.ID(recordName: share.recordID.recordName, zoneID: try await home.shared(zone))
            #expect(try await home.ben.sharedCloudDatabase.record(for: theirs) is CKShare)
            let held = try #require(try await raw(share.recordID, home)?.sharing?.newestKeys)
            let place = RecordAddress(
                zone: try await ada.requests().zoneKeys(zone.model).place, name: share.recordID.recordName)
            let counter = try SealedShareStatement(bytes: try #require(held.statement), share: place).counter
            var change = ShareKeyChange(epoch: held.epoch, begins: false)
            let bens = try await home.ben.sharedCloudDatabase.requests().zoneKeys(theirs.zoneID.model)
            var bytes: [UInt8] = []
            switch forgery {
            case .older: bytes = try #require(old.statement)
            case .otherShare:
                let other = try await ada.save(
                    CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: "Other", zoneID: zone)))
                let others = try await home.share(other, with: ["cat"])
                bytes = try #require(try await raw(others.recordID, home)?.sharing?.newestKeys?.statement)
            case .otherSigner:
                // Ben has the key, and no right.
                let key = try #require(bens.shared.newestKey(of: share.recordID.recordName))
                let statement = ShareStatement(of: place, root: "Folder", publicPermission: .readWrite)
                #expect(throws: EncryptionError.self) {
                    try SealedShareStatement(
                        statement, counter: counter + 1, under: key, by: bens.access.user,
                        with: bens.access.secret.identity())
                }
                bytes = try SealedShareStatement(
                    statement, counter: counter + 1, under: key, by: place.zone.owner,
                    with: bens.access.secret.identity()
                ).bytes
            case .stripped: change = ShareKeyChange(epoch: held.epoch + 1, begins: true, blob: held.blob)
            case .garbage: bytes = Array(repeating: 7, count: 100)
            }
            if !bytes.isEmpty { change.statement = .init(counter: Int(counter) + 1, bytes: bytes) }
            try await store(change, of: share.recordID, home)
            #expect(await isRefused(share.recordID, on: ada))
            if forgery != .stripped { #expect(await isRefused(theirs, on: home.ben.sharedCloudDatabase)) }
            // Nothing is wrapped for such a share.
            let root = try await ada.record(for: folder.recordID)
            root.encryptedValues["secret"] = "changed"
            try await ada.requests().raiseKeyEpoch(of: zone.model)
            await #expect(throws: CKError.self) { try await ada.save(root) }
        }
    }

    @Test func `B-TM-07 a user whom the cloud lists as one who joined by the link gets no key`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: [], publicPermission: .readOnly)
            let guid = try #require(try await raw(share.recordID, home)?.shortGUID)
            // Cat's account joins without the secret, as only the cloud can make her.
            _ = try await AcceptShares(home.cloud.cloud).run(
                [ShareInvitationRequest(shortGUID: guid)],
                in: DatabaseAddress(
                    container: ContainerID(home.cloud.container), environment: .development, scope: .public),
                by: Caller(user: try await user(home.cat)))
            try await home.accept(share.url, on: home.ben)
            let ada = home.ada.privateCloudDatabase
            _ = try await ada.record(for: share.recordID)
            let theirs = try await home.shared(zone)
            #expect(try await secret("One", in: theirs, home.ben.sharedCloudDatabase) == "secret of One")
            #expect(try await waits("One", in: theirs, home.cat.sharedCloudDatabase))
            let (bens, cats) = (try await user(home.ben), try await user(home.cat))
            let now = try await participants(share.recordID, home)
            #expect(now.first { $0.identity.user == bens }?.keyEpoch != nil)
            #expect(now.first { $0.identity.user == cats }?.keyEpoch == nil)
            // With the link she proves it, and her other devices get the key as well.
            try await home.accept(share.url, on: home.cat)
            _ = try await ada.record(for: share.recordID)
            let again = try await home.device(of: "cat")
            #expect(try await secret("One", in: theirs, again.container.sharedCloudDatabase) == "secret of One")
        }
    }

    @Test func `B-TM-06 two devices of the owner continue one another's statements`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            let second = try await home.device(of: "ada")
            let again = second.container.privateCloudDatabase
            let theirs = try asShare(try await again.record(for: share.recordID))
            theirs.addParticipant(try await home.ada.shareParticipant(forEmailAddress: "cat@example.com"))
            try await again.save(theirs)
            try await home.permit("ben", .readOnly, in: share.recordID)
            let shared = try await home.shared(zone)
            for member in [home.ben, home.cat] {
                try await home.accept(share.url, on: member)
                #expect(try await secret("One", in: shared, member.sharedCloudDatabase) == "secret of One")
            }
            for database in [home.ada.privateCloudDatabase, again] {
                #expect(try await database.record(for: share.recordID) is CKShare)
            }
        }
    }
}
