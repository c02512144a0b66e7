import Foundation
import SeededChance
import Testing

@testable import CloudBackup

/// Backups that are sealed to a recipient: what the machine that backs up can do, and what it cannot.
@Suite(.timeLimit(.minutes(5))) struct RecipientTests {
    private final class Cloud {
        let folder: TestFolder
        let place: TestPlace
        let owner = BackupPrivateKey()
        var image: MemoryImage
        var time: Int64 = 1_000_000

        init(_ kind: PlaceKind) throws {
            folder = try TestFolder()
            place = TestPlace(kind, in: folder)
            var chance = SplitMix64(seed: 5)
            image = MemoryImage(content: chance.bytes(20 * 65_536))
            // More than sixteen chunks, and so a list.
            image.content.replaceSubrange(0..<12, with: Array("written here".utf8))
            try folder.write(Array("a file of somebody".utf8), to: "data/assets/files/0a/aa0a")
            try folder.write(Array("secret".utf8), to: "data/secret")
        }

        var keys: String { folder.path + "/keys" }

        func machine(_ recipient: BackupRecipient? = nil) -> BackupAccess {
            BackupAccess(recipient: recipient, writingKeys: keys)
        }

        @discardableResult
        func take(_ access: BackupAccess) throws -> BackupManifest {
            time += 1000
            place.advance(7_200_000)
            return try TakeMoment(Backup.begin(place.place(), access), now: { 0 }).run(
                image, BackupSource(folder: folder.path + "/data", immutableFiles: "assets/files", files: ["secret"]),
                at: time, program: "test")
        }

        func verify(_ name: String, _ access: BackupAccess) throws -> [VerifyMoment.Finding] {
            try VerifyMoment(Backup.open(place.place(), access)).run(
                name, storeName: "store", immutableFiles: "assets/files")
        }

        func restore(_ name: String, _ access: BackupAccess, to target: String) async throws {
            let backup = try Backup.open(place.place(), access)
            try await RestoreMoment(backup).run(
                try backup.manifest(name), to: folder.path + "/" + target, storeName: "store",
                immutableFiles: "assets/files", finish: { _ in })
        }
    }

    private func expect(
        _ code: BackupError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
    ) async {
        await #expect(sourceLocation: sourceLocation) { try await body() } throws: { error in
            (error as? BackupError)?.code == code
        }
    }

    @Test(arguments: PlaceKind.allCases)
    func `a machine adds, lists and prunes moments that only the private key opens`(kind: PlaceKind) async throws {
        let cloud = try Cloud(kind)
        let first = try cloud.take(cloud.machine(cloud.owner.recipient))
        let before = cloud.image.content
        cloud.image.content[19 * 65_536] ^= 1
        try cloud.folder.write([1, 2], to: "data/assets/files/0a/bb0a")
        let second = try cloud.take(cloud.machine())
        #expect(second.counts.chunksAdded == 4, "a chunk of the store, its list, the file, the list of files")
        for name in cloud.place.names(below: "chunks") + cloud.place.names(below: "moments") + ["welkin-backup.json"] {
            let bytes = Data(try #require(cloud.place.bytes(of: name)))
            for text in ["secret", "written here", "somebody"] {
                #expect(bytes.range(of: Data(text.utf8)) == nil, "\(name)")
            }
        }
        let owner = BackupAccess(privateKey: cloud.owner)
        for moment in [first, second] {
            #expect(try cloud.verify(moment.name, owner) == [])
            try await cloud.restore(moment.name, owner, to: moment.name)
        }
        #expect(cloud.folder.bytes(of: first.name + "/store") == before)
        #expect(cloud.folder.bytes(of: second.name + "/store") == cloud.image.content)
        #expect(cloud.folder.bytes(of: second.name + "/secret") == Array("secret".utf8))
        // The machine prunes without opening contents.
        cloud.place.advance(7_200_000)
        let machine = try Backup.begin(cloud.place.place(), cloud.machine())
        #expect(try machine.momentNames() == [first.name, second.name])
        #expect(try PruneMoments(machine).run(keeping: 1).moments == [first.name])
        #expect(try cloud.verify(second.name, owner) == [])
    }

    @Test(arguments: PlaceKind.allCases)
    func `the machine cannot open what it stored, with all that it keeps`(kind: PlaceKind) async throws {
        let cloud = try Cloud(kind)
        let moment = try cloud.take(cloud.machine(cloud.owner.recipient))
        await expect(.keyMissing) { _ = try cloud.verify(moment.name, cloud.machine()) }
        await expect(.keyMissing) { try await cloud.restore(moment.name, cloud.machine(), to: "none") }
        let machine = try Backup.open(cloud.place.place(), cloud.machine())
        let ids = try machine.ids(of: moment.store)
        #expect(ids.count == 20)
        await expect(.damaged) { _ = try machine.get(ids[0], .content) }
        await expect(.damaged) { _ = try machine.get(ids[0], .list) }
        let owner = try Backup.open(cloud.place.place(), BackupAccess(privateKey: cloud.owner))
        #expect(try Array(owner.get(ids[0], .content).prefix(12)) == Array("written here".utf8))
        // Nothing that the machine keeps opens the sealed key in front of a chunk.
        let files = cloud.folder.files(below: "keys")
        #expect(files.count == 1)
        var status = stat()
        #expect(stat(cloud.keys + "/" + (files.keys.first ?? ""), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test(arguments: PlaceKind.allCases)
    func `a wrong key, another machine and an exchanged header are refused`(kind: PlaceKind) async throws {
        let cloud = try Cloud(kind)
        let other = BackupPrivateKey()
        let moment = try cloud.take(cloud.machine(cloud.owner.recipient))
        await expect(.keyWrong) { _ = try cloud.verify(moment.name, BackupAccess(privateKey: other)) }
        await expect(.keyMissing) { _ = try Backup.open(cloud.place.place()) }
        await expect(.keyMissing) { try cloud.take(BackupAccess(writingKeys: cloud.folder.path + "/new")) }
        await expect(.recipientUnusable) { try cloud.take(cloud.machine(other.recipient)) }
        await expect(.notSealed) { _ = try Backup.open(cloud.place.place(), BackupAccess(passphrase: "a")) }
        // With the private key once, another machine goes on.
        let moved = BackupAccess(privateKey: cloud.owner, writingKeys: cloud.folder.path + "/new")
        let second = try cloud.take(moved)
        #expect(second.counts.chunksAdded == 0)
        try cloud.take(BackupAccess(writingKeys: cloud.folder.path + "/new"))
        // Whoever can write to the place names himself as the recipient.
        let header = try #require(cloud.place.bytes(of: "welkin-backup.json"))
        let text = String(decoding: header, as: UTF8.self)
        let exchanged = text.replacing(cloud.owner.recipient.description, with: other.recipient.description)
        #expect(exchanged != text)
        try cloud.place.set("welkin-backup.json", Array(exchanged.utf8))
        await expect(.damaged) { try cloud.take(cloud.machine()) }
        let fresh = try WritingKey(for: other.recipient).sealed()
        let old = try #require(text.firstMatch(of: /"key" : "([^"]+)"/)).1
        try cloud.place.set("welkin-backup.json", Array(exchanged.replacing(old, with: fresh.key).utf8))
        await expect(.keyMissing) { try cloud.take(cloud.machine()) }
    }

    @Test func `recipients go with sealed backups alone`() async throws {
        let cloud = try Cloud(.folder)
        try cloud.take(BackupAccess(passphrase: "right", cost: 1024))
        await expect(.recipientUnusable) { try cloud.take(cloud.machine(cloud.owner.recipient)) }
        await expect(.notSealed) { _ = try Backup.open(cloud.place.place(), BackupAccess(privateKey: cloud.owner)) }
    }

    @Test func `texts and files of keys are read as they were written, and others refused`() async throws {
        let folder = try TestFolder()
        let key = BackupPrivateKey()
        let path = folder.path + "/key"
        try key.write(to: path)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try BackupPrivateKey(file: path).recipient == key.recipient)
        await expect(.unavailable) { try BackupPrivateKey().write(to: path) }
        #expect(try BackupPrivateKey(file: path).recipient == key.recipient)
        try folder.write(Array("nothing\n".utf8), to: "other")
        await expect(.keyUnusable) { _ = try BackupPrivateKey(file: folder.path + "/other") }
        await expect(.keyUnusable) { _ = try BackupPrivateKey(file: folder.path + "/none") }
        let text = key.recipient.description
        #expect(text.hasPrefix("welkin-backup-"))
        #expect(try BackupRecipient(text) == key.recipient)
        for index in 14..<text.count {
            var letters = Array(text)
            letters[index] = letters[index] == "A" ? "B" : "A"
            let changed = try? BackupRecipient(String(letters))
            #expect(changed == nil, "\(index)")
        }
        for bad in ["", "welkin-backup-", text + "A", String(text.dropLast()), "x" + text] {
            await expect(.recipientUnusable) { _ = try BackupRecipient(bad) }
        }
    }
}
