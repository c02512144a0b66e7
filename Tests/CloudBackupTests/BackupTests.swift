import CloudBackup
import Foundation
import SeededChance
import Testing

/// What a backup keeps, what it refuses, and what damage does to it.
@Suite(.timeLimit(.minutes(5))) struct BackupTests {
    /// A data folder with a store of 200 pages, three files of assets and a secret.
    private final class Cloud {
        let folder: TestFolder
        var image: MemoryImage
        var time: Int64 = 1_000_000
        private var chance: SplitMix64

        init(seed: UInt64 = 7) throws {
            folder = try TestFolder()
            var chance = SplitMix64(seed: seed)
            image = MemoryImage(content: (0..<200 * 8192).map { _ in UInt8.random(in: 0 ... .max, using: &chance) })
            self.chance = chance
            try folder.write(bytes(3000), to: "data/assets/files/0a/aa0a")
            try folder.write(bytes(2_500_000), to: "data/assets/files/0a/bb0a")
            try folder.write([], to: "data/assets/files/ff/ccff")
            try folder.write(Array("secret".utf8), to: "data/secret")
        }

        func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &chance) } }

        var backupPath: String { folder.path + "/backup" }

        func open(_ passphrase: String? = nil) throws -> BackupFolder {
            try BackupFolder.begin(backupPath, passphrase: passphrase, cost: 1024)
        }

        @discardableResult
        func take(_ backup: BackupFolder, isCancelled: @escaping () -> Bool = { false }) throws -> BackupManifest {
            time += 1000
            return try TakeMoment(backup, now: { [time] in time }, isCancelled: isCancelled).run(
                image,
                BackupSource(folder: folder.path + "/data", immutableFiles: "assets/files", files: ["secret", "no"]),
                at: time, program: "test")
        }

        func restore(_ name: String, passphrase: String? = nil, to target: String = "restored") async throws {
            let backup = try BackupFolder.open(backupPath, passphrase: passphrase)
            try await RestoreMoment(backup).run(
                try backup.manifest(name), to: folder.path + "/" + target, storeName: "store",
                immutableFiles: "assets/files", finish: { _ in })
        }

        func verify(_ name: String) throws -> [VerifyMoment.Finding] {
            try VerifyMoment(BackupFolder.open(backupPath)).run(
                name, storeName: "store", immutableFiles: "assets/files")
        }

        /// The paths of chunk files, by their size.
        func chunks() -> [String: Int] { folder.files(below: "backup/chunks").mapValues(\.count) }
    }

    private func expect(
        _ code: BackupError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
    ) async {
        await #expect(sourceLocation: sourceLocation) { try await body() } throws: { error in
            (error as? BackupError)?.code == code
        }
    }

    @Test(arguments: [nil, "correct horse"]) func `a moment is restored byte for byte`(passphrase: String?) async throws
    {
        let cloud = try Cloud()
        let manifest = try cloud.take(cloud.open(passphrase))
        #expect(manifest.counts.assets == 3)
        #expect(manifest.name == "19700101T001641.000Z")
        try await cloud.restore(manifest.name, passphrase: passphrase)
        #expect(cloud.folder.bytes(of: "restored/store") == cloud.image.content)
        #expect(cloud.folder.bytes(of: "restored/secret") == Array("secret".utf8))
        #expect(
            cloud.folder.files(below: "restored/assets") == cloud.folder.files(below: "data/assets"))
        var status = stat()
        #expect(stat(cloud.folder.path + "/restored/secret", &status) == 0 && status.st_mode & 0o777 == 0o600)
        let kept = cloud.folder.files(below: "backup").values.contains {
            Data($0).range(of: Data("secret".utf8)) != nil
        }
        #expect(kept == (passphrase == nil))
    }

    @Test func `a second moment with few changes adds little, and each moment keeps its own state`() async throws {
        let cloud = try Cloud()
        let backup = try cloud.open()
        let first = try cloud.take(backup)
        let before = cloud.image.content
        cloud.image.content[100 * 8192 + 5] ^= 1
        try cloud.folder.write(cloud.bytes(500), to: "data/assets/files/ff/ddff")
        try FileManager.default.removeItem(atPath: cloud.folder.path + "/data/assets/files/0a/aa0a")
        let second = try cloud.take(backup)
        // One chunk of the store, its list, the file, two lists of files.
        #expect(second.counts.chunksAdded == 5)
        #expect(second.counts.bytesAdded < 70_000)
        #expect(first.counts.bytesAdded > 4_000_000)
        try await cloud.restore(first.name, to: "one")
        try await cloud.restore(second.name, to: "two")
        #expect(cloud.folder.bytes(of: "one/store") == before)
        #expect(cloud.folder.bytes(of: "two/store") == cloud.image.content)
        #expect(cloud.folder.bytes(of: "one/assets/files/0a/aa0a")?.count == 3000)
        #expect(cloud.folder.bytes(of: "two/assets/files/0a/aa0a") == nil)
        let third = try cloud.take(backup)
        #expect(third.counts.chunksAdded == 0)
        #expect(try backup.momentNames() == [first.name, second.name, third.name])
    }

    @Test func `a moment that was cut off does not exist, and the next one removes what it left`() async throws {
        let cloud = try Cloud()
        let backup = try cloud.open()
        let first = try cloud.take(backup)
        let whole = cloud.chunks()
        let earlier = cloud.image.content
        cloud.image.content = cloud.bytes(200 * 8192)
        for limit in [1, 7, 25, 26] {
            var asked = 0
            #expect(throws: CancellationError.self) {
                try cloud.take(backup) {
                    asked += 1
                    return asked > limit
                }
            }
            #expect(try backup.momentNames() == [first.name])
        }
        #expect(cloud.chunks().count > whole.count)
        cloud.image.content = earlier
        let second = try cloud.take(backup)
        #expect(cloud.chunks() == whole)
        #expect(second.counts.chunksAdded == 0)
        try await cloud.restore(second.name)
        #expect(cloud.folder.bytes(of: "restored/store") == earlier)
    }

    @Test func `pruning removes old moments and never what others need`() async throws {
        let cloud = try Cloud()
        let backup = try cloud.open()
        var states: [(String, [UInt8])] = []
        for round in 0..<5 {
            cloud.image.content[round * 60_000] ^= 0xFF
            try cloud.folder.write(cloud.bytes(1000), to: "data/assets/files/0a/e\(round)0a")
            states.append((try cloud.take(backup).name, cloud.image.content))
        }
        let outcome = try PruneMoments(backup).run(keeping: 2)
        #expect(outcome.moments == states.prefix(3).map(\.0))
        #expect(outcome.chunks > 0)
        #expect(try backup.momentNames() == states.suffix(2).map(\.0))
        for (name, content) in states.suffix(2) {
            #expect(try cloud.verify(name).isEmpty)
            try await cloud.restore(name, to: name)
            #expect(cloud.folder.bytes(of: name + "/store") == content)
        }
        #expect(try PruneMoments(backup).run(keeping: 2).moments.isEmpty)
        let rest = cloud.chunks().count
        _ = try PruneMoments(backup).run(keeping: 1)
        #expect(cloud.chunks().count < rest)
        #expect(try cloud.verify(states[4].0).isEmpty)
    }

    @Test func `damage is named by what cannot be restored, and nothing of the moment is restored`() async throws {
        let cloud = try Cloud()
        let name = try cloud.take(cloud.open()).name
        #expect(try cloud.verify(name).isEmpty)
        // The only chunks of these sizes: the small file, and the rest of the large one.
        for (size, part) in [(3000, "assets/files/0a/aa0a"), (2_500_000 - 2 << 20, "assets/files/0a/bb0a")] {
            let chunk = try #require(cloud.chunks().first { $0.value == size }).key
            var bytes = try #require(cloud.folder.bytes(of: "backup/chunks/" + chunk))
            bytes[17] ^= 4
            try cloud.folder.write(bytes, to: "backup/chunks/" + chunk)
            let findings = try cloud.verify(name)
            #expect(findings.map(\.part) == [part])
            #expect(findings.first?.problem.contains("its digest does not hold") == true)
            await expect(.damaged) { try await cloud.restore(name) }
            #expect(!FileManager.default.fileExists(atPath: cloud.folder.path + "/restored"))
            #expect(!FileManager.default.fileExists(atPath: cloud.folder.path + "/restored.restoring"))
            bytes[17] ^= 4
            try cloud.folder.write(bytes, to: "backup/chunks/" + chunk)
        }
        for chunk in cloud.chunks().keys where cloud.chunks()[chunk] == 65_536 {
            try FileManager.default.removeItem(atPath: cloud.folder.path + "/backup/chunks/" + chunk)
            break
        }
        #expect(try cloud.verify(name).map(\.part) == ["store"])
        // Taking the same state again repairs it.
        let second = try cloud.take(cloud.open())
        #expect(second.counts.chunksAdded == 1)
        #expect(try cloud.verify(name).isEmpty)
    }

    @Test func `a manifest that was changed or cut is damaged, and keeps pruning from removing chunks`() async throws {
        let cloud = try Cloud()
        let first = try cloud.take(cloud.open()).name
        cloud.image.content[0] ^= 1
        let second = try cloud.take(cloud.open()).name
        let path = "backup/moments/\(second).moment"
        let bytes = try #require(cloud.folder.bytes(of: path))
        let chunks = cloud.chunks()
        for changed in [Array(bytes.dropLast(3)), [], bytes.map { $0 == UInt8(ascii: "5") ? UInt8(ascii: "6") : $0 }] {
            try cloud.folder.write(changed, to: path)
            await expect(.damaged) { try await cloud.restore(second) }
            let backup = try cloud.open()
            await expect(.damaged) { _ = try PruneMoments(backup).run(keeping: 1) }
            #expect(cloud.chunks() == chunks)
            #expect(try backup.momentNames() == [first, second])
        }
        #expect(try cloud.verify(first).isEmpty)
    }

    @Test func `a sealed backup opens with its passphrase alone`() async throws {
        let cloud = try Cloud()
        let name = try cloud.take(cloud.open("right")).name
        await expect(.passphraseWrong) { _ = try cloud.open("wrong") }
        await expect(.passphraseMissing) { _ = try cloud.open() }
        await expect(.passphraseWrong) { try await cloud.restore(name, passphrase: "") }
        // A chunk under the name of another one.
        let chunks = cloud.chunks().filter { $0.value == 65_536 + 28 }.keys.sorted()
        try #require(chunks.count > 2)
        let other = try #require(cloud.folder.bytes(of: "backup/chunks/" + chunks[1]))
        try cloud.folder.write(other, to: "backup/chunks/" + chunks[0])
        await expect(.damaged) { try await cloud.restore(name, passphrase: "right") }
        let plain = try Cloud()
        try plain.take(plain.open())
        await expect(.notSealed) { _ = try plain.open("any") }
    }

    @Test func `what is no backup, is newer, in use or not empty is refused`() async throws {
        let cloud = try Cloud()
        try cloud.folder.write([1], to: "other/file")
        await expect(.notABackup) { _ = try BackupFolder.begin(cloud.folder.path + "/other") }
        await expect(.notABackup) { _ = try BackupFolder.open(cloud.folder.path + "/other") }
        await expect(.unavailable) { _ = try BackupFolder.begin(cloud.folder.path + "/none/below") }
        let backup = try cloud.open()
        let name = try cloud.take(backup).name
        await expect(.busy) { _ = try cloud.open() }
        await expect(.noSuchMoment) { _ = try backup.manifest("20200101T000000.000Z") }
        await expect(.noSuchMoment) { _ = try backup.manifest("../moments/" + name) }
        try cloud.folder.write([1], to: "full/file")
        await expect(.notEmpty) { try await cloud.restore(name, to: "full") }
        #expect(cloud.folder.files(below: "full") == ["file": [1]])
        try cloud.folder.write(Array(#"{"format": 99}"#.utf8), to: "backup/welkin-backup.json")
        await expect(.newerFormat) { _ = try BackupFolder.open(cloud.backupPath) }
    }

    @Test func `a header that asks for endless memory is refused`() async throws {
        let cloud = try Cloud()
        try cloud.take(cloud.open("right"))
        let header = try #require(cloud.folder.bytes(of: "backup/welkin-backup.json"))
        let text = String(decoding: header, as: UTF8.self)
        for (before, after) in [("1024", "1073741824"), ("1024", "1000"), (": 8,", ": 9999,")] {
            let changed = text.replacing(before, with: after)
            #expect(changed != text)
            try cloud.folder.write(Array(changed.utf8), to: "backup/welkin-backup.json")
            await expect(.damaged) { _ = try cloud.open("right") }
        }
    }
}
