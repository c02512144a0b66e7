import CloudKitEncryption
import Foundation
import IdentityDirectory
import Testing

@testable import CloudKit
@testable import CloudKitAccounts
@testable import CloudKitClient

/// Identities that the cloud names, compared with those that its directory shows everybody.
@Suite(.timeLimit(.minutes(20))) struct DirectoryTests {
    private func identity(of name: String, _ home: SharingHousehold) async throws -> String {
        let store = home.cloud.accountStore
        let account = try #require(try await store.accounts.account(email: name + "@example.com"))
        let keychain = try #require(try await store.read { try await Keychain.table.row(account.id, in: $0) })
        return Data(keychain.identity).base64EncodedString()
    }

    @Test func `B-TM-08 another identity at the first invitation is an error, and gets no key`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let network = LyingTransport()
            let ada = try await home.device(of: "ada", over: network)
            let ghost = try AccountSecret().identity().publicIdentity
            network.replace(
                try await identity(of: "ben", home), by: Data(ghost.bytes).base64EncodedString())

            let share = CKShare(rootRecord: folder)
            let ben = try await ada.container.shareParticipant(forEmailAddress: "ben@example.com")
            share.addParticipant(ben)
            let failure = await #expect(throws: CKError.self) {
                try await ada.container.privateCloudDatabase.modifyRecords(saving: [folder, share], deleting: [])
            }
            let error = failure?.partialErrorsByItemID?[share.recordID] as? CKError
            #expect(error?.localizedDescription.contains("another identity than its own directory shows") == true)
            // Nothing was sealed to the ghost, in any request.
            for path in ["records/modify", "shares/keys/store"] {
                for body in network.bodies(to: path) {
                    #expect(!body.contains(ghost.fingerprint.hex))
                }
            }
        }
    }

    @Test func `B-TM-08 a participant who replaces the keys while the share is fetched is no liar`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben", "cat"])
            for device in [home.ben, home.cat] { try await home.accept(share.url, on: device) }
            // It knows nobody's identity yet.
            let network = InterruptedTransport()
            let ada = try await home.device(of: "ada", over: network)
            let cat = home.signedIn.cat
            network.interrupt("records/lookup", .after) { _ = try? await cat.reset(SharingHousehold.password) }
            let before = try await identity(of: "cat", home)
            _ = try await ada.container.privateCloudDatabase.record(for: share.recordID)
            #expect(try await identity(of: "cat", home) != before)
        }
    }

    @Test func `B-TM-08 a cloud that hides its directory gets no key wrapped, and an honest one does`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let network = LyingTransport()
            network.silenceDirectory()
            let ada = try await home.device(of: "ada", over: network)
            let share = CKShare(rootRecord: folder)
            share.addParticipant(try await ada.container.shareParticipant(forEmailAddress: "ben@example.com"))
            let results = try await ada.container.privateCloudDatabase.modifyRecords(
                saving: [folder, share], deleting: [])
            let saved = try #require(try results.saveResults[share.recordID]?.get() as? CKShare)
            let fingerprint = try PublicIdentity(
                bytes: Array(try #require(Data(base64Encoded: try await identity(of: "ben", home))))
            ).fingerprint
            #expect(!network.bodies(to: "shares/keys/store").contains { $0.contains(fingerprint.hex) })
            try await home.accept(saved.url, on: home.ben)
            // A device that the directory answers gives Ben his key.
            _ = try await home.ada.privateCloudDatabase.record(for: saved.recordID)
            let theirs = try await home.shared(zone)
            let note = try await home.ben.sharedCloudDatabase.record(
                for: CKRecord.ID(recordName: "One", zoneID: theirs))
            #expect(note.encryptedValues["secret"] as? String == "secret of One")
        }
    }

    @Test func `B-TM-08 another identity of a share's owner is an error for who joins`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let saved = try await home.share(folder, with: ["ben"])
            let network = LyingTransport()
            let ben = try await home.device(of: "ben", over: network)
            let ghost = try AccountSecret().identity().publicIdentity
            network.replace(
                try await identity(of: "ada", home), by: Data(ghost.bytes).base64EncodedString())
            let error = await #expect(throws: CKError.self) { try await home.accept(saved.url, on: ben.container) }
            #expect(error?.localizedDescription.contains("another identity than its own directory shows") == true)
        }
    }

    @Test func `a head of the same history is accepted, and one of another is an error`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let saved = try await home.share(folder, with: ["ben", "cat"])
            try await home.accept(saved.url, on: home.ben)
            try await home.accept(saved.url, on: home.cat)
            let ben = home.ben.sharedCloudDatabase.requests()
            let cat = home.cat.sharedCloudDatabase.requests()
            let head = try #require(try ben.newestDirectoryHead())
            try await cat.check(head)
            _ = try await home.newcomer("dora")
            try await cat.check(DirectoryHeadReference(number: head.number, hash: head.hash))
            for other in [
                DirectoryHeadReference(number: head.number, hash: [UInt8](repeating: 1, count: 32)),
                DirectoryHeadReference(number: 1 << 40, hash: head.hash),
            ] {
                await #expect(throws: CallFailure.self) { try await cat.check(other) }
            }
        }
    }

    /// Shows others keys of the operator's own for a user, without a reset that the user's devices would notice.
    private func giveOtherKeys(to name: String, _ home: SharingHousehold) async throws {
        let store = home.cloud.accountStore
        let account = try #require(try await store.accounts.account(email: name + "@example.com"))
        let ghost = try AccountSecret().identity().publicIdentity.bytes
        try await store.write { transaction in
            var keychain = try #require(try await Keychain.table.row(account.id, in: transaction))
            keychain.identity = ghost
            try Keychain.table.set(account.id, to: keychain, in: &transaction)
            try transaction.noteDirectoryChange(.account(account.id))
        }
    }

    @Test func `a device whose account's entry has other keys reports it`() async throws {
        try await SharingHousehold.run { home in
            let zone = try await home.ada.privateCloudDatabase.save(CKRecordZone(zoneName: "Notes")).zoneID
            let requests = home.ada.privateCloudDatabase.requests()
            try await requests.checkOwnEntryIfDue()
            try await giveOtherKeys(to: "ada", home)
            let device = try await SigningDevice.again(home)
            let error = await #expect(throws: CKError.self) {
                _ = try await device.privateCloudDatabase.recordZoneChanges(inZoneWith: zone, since: nil)
            }
            #expect(error?.localizedDescription.contains("directory shows others keys") == true)
        }
    }

    /// Whether the keys were reset is not known before the cloud has said it.
    @Test func `an entry with other keys is no lie before the cloud has said what became of the account`() async throws
    {
        try await SharingHousehold.run { home in
            let zone = try await home.ada.privateCloudDatabase.save(CKRecordZone(zoneName: "Notes")).zoneID
            try await giveOtherKeys(to: "ada", home)
            let network = InterruptedTransport()
            let device = CKContainer(
                configuration: home.signedIn.ada.configuration, transport: network, clientEnvironment: .system)
            network.interrupt("keychain/get", .before) {}
            func follow() async -> CKError? {
                await #expect(throws: CKError.self) {
                    _ = try await device.privateCloudDatabase.recordZoneChanges(inZoneWith: zone, since: nil)
                }
            }
            #expect(await follow()?.code == .networkFailure)
            #expect(await follow()?.localizedDescription.contains("directory shows others keys") == true)
        }
    }

    @Test func `devices that sign in later are listed as new`() async throws {
        try await SharingHousehold.run { home in
            let requests = home.ada.privateCloudDatabase.requests()
            try await requests.checkOwnEntryIfDue()
            #expect(try requests.newDevices().isEmpty)
            _ = try await home.device(of: "ada")
            requests.connection.directory.forgetOwnEntryCheck()
            try await requests.checkOwnEntryIfDue()
            #expect(try requests.newDevices().count == 1)
            try requests.connection.directory.confirmDevices(of: "ada@example.com")
            #expect(try requests.newDevices().isEmpty)
        }
    }
}

extension SigningDevice {
    /// The container of Ada's signed-in device, as a process that begins later sees it.
    fileprivate static func again(_ home: SharingHousehold) async throws -> CKContainer {
        CKContainer(
            configuration: home.signedIn.ada.configuration, transport: HTTPTransport.shared, clientEnvironment: .system)
    }
}
