import CloudKit
import Foundation
import Testing

/// Engines on a private and a shared database sync a shared folder: sealed values, files, and its end.
@Suite(.timeLimit(.minutes(20))) struct SharedFolderTests {
    private let files: TestFiles

    init() throws { files = try TestFiles() }

    private func note(_ text: String, _ count: Int = 70_000) -> SharedFolder.Note {
        SharedFolder.Note(text: text, file: TestFiles.bytes(text, count))
    }

    /// Ada's folder, shared with Ben who writes and Cat who reads, each with an engine.
    private func withFolder(
        _ body: (SharingHousehold, Scene) async throws -> Void
    ) async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = CKShare(rootRecord: folder)
            try await home.invite(["ben"], to: share)
            try await home.invite(["cat"], to: share, .readOnly)
            let saved = try await home.save(share, with: folder)
            try await home.accept(saved.url, on: home.ben)
            try await home.accept(saved.url, on: home.cat)
            try await body(
                home,
                Scene(
                    zone: zone, theirs: try await home.shared(zone), share: saved.recordID,
                    ada: SharedFolder(home.ada.privateCloudDatabase, files),
                    ben: SharedFolder(home.ben.sharedCloudDatabase, files),
                    cat: SharedFolder(home.cat.sharedCloudDatabase, files)))
        }
    }

    private struct Scene {
        let zone: CKRecordZone.ID
        let theirs: CKRecordZone.ID
        let share: CKRecord.ID
        let ada: SharedFolder
        let ben: SharedFolder
        let cat: SharedFolder
    }

    @Test func `B-SYN-03, B-SHF-01, B-SHF-03 sealed values and files go both ways between owner and members`()
        async throws
    {
        try await withFolder { _, scene in
            let (ada, ben, cat) = (scene.ada, scene.ben, scene.cat)
            try await ada.fetch()
            await ada.write("Ada's", note("from Ada"), in: scene.zone)
            try await ada.send()
            for member in [ben, cat] {
                try await member.fetch()
                #expect(await member.zones == [scene.theirs])
                #expect(await member.notes["Ada's"] == note("from Ada"))
                #expect(await member.notes["One"]?.text == "secret of One")
            }
            await ben.write("Ben's", note("from Ben"), in: scene.theirs)
            await ben.write("Ada's", note("changed by Ben"), in: scene.theirs)
            await ben.remove("Two", in: scene.theirs)
            try await ben.send()
            try await ada.fetch()
            try await cat.fetch()
            for member in [ada, cat] {
                #expect(await member.notes["Ben's"] == note("from Ben"))
                #expect(await member.notes["Ada's"] == note("changed by Ben"))
                #expect(await member.notes["Two"] == nil)
            }
            // A reader's change is refused, and not tried again.
            await cat.write("Cat's", note("refused"), in: scene.theirs)
            await #expect(throws: CKError.self) { try await cat.send() }
            #expect(await cat.failures == [.permissionFailure])
            #expect(await cat.syncEngine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test
    func `B-SHF-04, B-SHF-07, B-TM-05 a removed participant loses the zone, the others read values under new keys`()
        async throws
    {
        try await withFolder { home, scene in
            let (ada, ben, cat) = (scene.ada, scene.ben, scene.cat)
            for engine in [ada, ben, cat] { try await engine.fetch() }
            await ben.write("Late", note("never sent"), in: scene.theirs)
            try await home.remove("ben", from: scene.share, by: home.ada)
            await ada.write("After", note("without Ben"), in: scene.zone)
            try await ada.send()
            try await cat.fetch()
            #expect(await cat.notes["After"] == note("without Ben"))
            #expect(await cat.undelivered.isEmpty)
            await #expect(throws: CKError.self) { try await ben.send() }
            #expect(await ben.failures == [.zoneNotFound])
            try await ben.fetch()
            #expect(await ben.zonesGone == [scene.theirs: .deleted])
            #expect(await ben.notes.isEmpty)
        }
    }

    @Test func `B-ACP-08, B-ACP-09 the end of a share, and of its zone, is the end of the zone for members`()
        async throws
    {
        try await withFolder { home, scene in
            for engine in [scene.ben, scene.cat] { try await engine.fetch() }
            try await home.ada.privateCloudDatabase.deleteRecord(withID: scene.share)
            try await scene.ben.fetch()
            #expect(await scene.ben.zonesGone == [scene.theirs: .deleted])
            // Shared again, it is back.
            let ada = home.ada.privateCloudDatabase
            let folder = try await ada.record(for: CKRecord.ID(recordName: "Folder", zoneID: scene.zone))
            let again = try await home.share(folder, with: ["ben"])
            try await home.accept(again.url, on: home.ben)
            try await scene.ben.fetch()
            #expect(await scene.ben.zones == [scene.theirs])
            #expect(await scene.ben.notes["One"]?.text == "secret of One")
            try await ada.deleteRecordZone(withID: scene.zone)
            try await scene.ben.fetch()
            #expect(await scene.ben.zones.isEmpty)
            #expect(await scene.ben.notes.isEmpty)
        }
    }

    @Test func `B-TM-06 a zone whose key is missing is fetched whole once it has arrived`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["dora"])
            let dora = try await home.newcomer("dora")
            try await home.accept(share.url, on: dora.container)
            let theirs = try await home.shared(zone)
            let app = SharedFolder(dora.container.sharedCloudDatabase, files)
            await #expect(throws: CKError.self) { try await app.fetch() }
            #expect(await app.undelivered == [.zoneBusy])
            #expect(await app.notes.isEmpty)
            // The owner's engine comes by.
            let again = try await home.device(of: "ada")
            let ada = SharedFolder(again.container.privateCloudDatabase, files)
            try await ada.fetch()
            try await app.fetch()
            #expect(await app.notes["One"]?.text == "secret of One")
            await app.write("Dora's", note("from Dora"), in: theirs)
            try await app.send()
            try await ada.fetch()
            #expect(await ada.notes["Dora's"] == note("from Dora"))
        }
    }
}
