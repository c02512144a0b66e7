import CloudKitClient
import CloudKitDevice
import Foundation
import Testing

@testable import CloudKit

/// Devices with a full disk: files that cannot be written.
@Suite(.timeLimit(.minutes(20))) struct UnwritableProfileTests {
    /// Runs a body while a device cannot change what it remembers of identities and epochs.
    private func withoutRoom(on device: SigningDevice, _ body: () async throws -> Void) async throws {
        let locks = [DeviceProfile.knownIdentitiesFile, DeviceProfile.keyEpochsFile].map {
            device.configuration.deviceProfile.folder + "/" + $0 + ".lock"
        }
        for lock in locks {
            try? FileManager.default.removeItem(atPath: lock)
            try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: true)
        }
        try await body()
        for lock in locks { try FileManager.default.removeItem(atPath: lock) }
    }

    @Test func `a sign-in that cannot be stored leaves no device behind`() async throws {
        try await ThrowawayCloud.run { cloud in
            let one = SigningDevice(cloud, "one")
            _ = try await one.signUp(SharingHousehold.password)
            let two = SigningDevice(cloud, "two")
            let folder = two.configuration.profilesFolder
            try Data().write(to: URL(fileURLWithPath: folder))
            let error = await #expect(throws: DeviceProfileError.self) {
                try await two.enter(SharingHousehold.password)
            }
            #expect(error?.failure?.code == ENOTDIR)
            #expect(try await one.devices().map(\.name) == ["one"])
            try FileManager.default.removeItem(atPath: folder)
            try await two.enter(SharingHousehold.password)
            #expect(try await one.devices().count == 2)
        }
    }

    @Test func `the first sign-in makes no keys whose recovery words it could not keep`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = SigningDevice(cloud, "one")
            let folder = device.configuration.profilesFolder
            try Data().write(to: URL(fileURLWithPath: folder))
            await #expect(throws: DeviceProfileError.self) {
                try await device.signUp(SharingHousehold.password)
            }
            try FileManager.default.removeItem(atPath: folder)
            guard case .made(let words) = try await device.enter(SharingHousehold.password) else {
                Issue.record("the keys were made by the sign-in that failed")
                return
            }
            #expect(!words.isEmpty)
        }
    }

    @Test func `B-TM-06 a device that cannot write its profile changes no share`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"], permission: .readOnly)
            try await home.accept(share.url, on: home.ben)
            let second = try await home.device(of: "ada")
            let database = second.container.privateCloudDatabase
            let old = try asShare(try await database.record(for: share.recordID))
            // A statement that the second device has not seen yet.
            let newer = try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID))
            try await home.invite(["cat"], to: newer)
            _ = try await home.ada.privateCloudDatabase.save(newer)

            old.participants.first { $0.role != .owner }?.permission = .readWrite
            func save() async throws {
                let results = try await database.modifyRecords(
                    saving: [old], deleting: [], savePolicy: .allKeys, atomically: false)
                _ = try results.saveResults[old.recordID]?.get()
            }
            try await withoutRoom(on: second) {
                let refusal = await #expect(throws: CKError.self) { try await save() }
                #expect(refusal?.code == .internalError)
                #expect((refusal?.userInfo[NSUnderlyingErrorKey] as? NSError)?.domain == NSPOSIXErrorDomain)
                #expect(refusal?.localizedDescription.contains("profile") == true)
            }
            func permission() async throws -> CKShare.ParticipantPermission? {
                let present = try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID))
                return present.participants.first {
                    $0.userIdentity.lookupInfo?.emailAddress == "ben@example.com"
                }?.permission
            }
            #expect(try await permission() == .readOnly)

            let present = try asShare(try await database.record(for: share.recordID))
            for participant in present.participants where participant.role != .owner {
                participant.permission = .readWrite
            }
            try await database.save(present)
            #expect(try await permission() == .readWrite)
        }
    }

    @Test func `B-TM-05 a device that cannot read new keys of a share seals nothing under the old ones`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben", "cat"])
            for member in [home.ben, home.cat] { try await home.accept(share.url, on: member) }
            let second = try await home.device(of: "ada")
            let database = second.container.privateCloudDatabase
            func save(_ name: String) async throws {
                let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
                note.encryptedValues["secret"] = "secret of " + name
                note.setParent(folder)
                try await database.save(note)
            }
            try await save("Three")
            try await home.remove("ben", from: share.recordID, by: home.ada)
            try await withoutRoom(on: second) {
                let refusal = await #expect(throws: CKError.self) { try await save("Four") }
                #expect(refusal?.code == .internalError)
            }
            try await save("Four")
            let theirs = CKRecord.ID(recordName: "Four", zoneID: try await home.shared(zone))
            let read = try await home.cat.sharedCloudDatabase.record(for: theirs)
            #expect(read.encryptedValues["secret"] == "secret of Four")
        }
    }

    @Test func `B-CHG-15 a sync engine waits for room for the files of a record`() async throws {
        try await ThrowawayCloud.run { cloud in
            let files = try TestFiles()
            let device = SigningDevice(cloud, "one")
            _ = try await device.signUp(SharingHousehold.password)
            let writer = device.container.privateCloudDatabase
            try await writer.save(Notebook.zone)
            let note = CKRecord(
                recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: Notebook.zone.zoneID))
            note["text"] = "one"
            note["edit"] = 1
            note["photo"] = try files.asset("photo", 100)
            try await writer.save(note)

            let cache = files.folder.appendingPathComponent("cache")
            try Data().write(to: cache)
            var configuration = device.configuration
            configuration.assetCache = AssetCacheSettings(folder: cache.path())
            let reader = CKContainer(configuration: configuration, transport: HTTPTransport.shared)
            let app = try Notebook(reader.privateCloudDatabase)
            let failure = await #expect(throws: CKError.self) { try await app.syncEngine.fetchChanges() }
            let item = failure?.partialErrorsByItemID?[Notebook.zone.zoneID] as? CKError
            #expect(item?.code == .internalError)
            #expect((item?.userInfo[NSUnderlyingErrorKey] as? NSError)?.domain == NSPOSIXErrorDomain)
            #expect(await app.notes.isEmpty)

            try FileManager.default.removeItem(at: cache)
            try await app.syncEngine.fetchChanges()
            #expect(await app.notes["n"]?.text == "one")
        }
    }
}
