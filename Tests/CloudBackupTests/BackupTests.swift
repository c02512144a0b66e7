import CloudBackup
import Foundation
import SeededChance
import Testing

/// What a backup keeps, what it refuses, and what damage does to it.
@Suite(.timeLimit(.minutes(5))) struct BackupTests {
    /// A data folder with a store of 200 pages, three files of assets and a secret.
    private final class Cloud {
        let folder: TestFolder
        let place: TestPlace
        var image: MemoryImage
        var time: Int64 = 1_000_000
        private var chance: SplitMix64

        init(_ kind: PlaceKind, seed: UInt64 = 7) throws {
            folder = try TestFolder()
            place = TestPlace(kind, in: folder)
            var chance = SplitMix64(seed: seed)
            image = MemoryImage(content: chance.bytes(200 * 8192))
            self.chance = chance
            try folder.write(bytes(3000), to: "data/assets/files/0a/aa0a")
            try folder.write(bytes(2_500_000), to: "data/assets/files/0a/bb0a")
            try folder.write([], to: "data/assets/files/ff/ccff")
            try folder.write(Array("secret".utf8), to: "data/secret")
        }

        func bytes(_ count: Int) -> [UInt8] { chance.bytes(count) }

        func open(_ passphrase: String? = nil) throws -> Backup {
            try Backup.begin(place.place(), BackupAccess(passphrase: passphrase, cost: 1024))
        }

        @discardableResult
        func take(_ backup: Backup, isCancelled: @escaping () -> Bool = { false }) throws -> BackupManifest {
            time += 1000
            // Objects of a bucket that nothing names stay for an hour.
            place.advance(7_200_000)
            return try TakeMoment(backup, now: { [time] in time }, isCancelled: isCancelled).run(
                image,
                BackupSource(folder: folder.path + "/data", immutableFiles: "assets/files", files: ["secret", "no"]),
                at: time, program: "test")
        }

        func restore(_ name: String, passphrase: String? = nil, to target: String = "restored") async throws {
            let backup = try Backup.open(place.place(), BackupAccess(passphrase: passphrase))
            try await RestoreMoment(backup).run(
                try backup.manifest(name), to: folder.path + "/" + target, storeName: "store",
                immutableFiles: "assets/files", finish: { _ in })
        }

        func verify(_ name: String) throws -> [VerifyMoment.Finding] {
            try VerifyMoment(Backup.open(place.place())).run(
                name, storeName: "store", immutableFiles: "assets/files")
        }

        /// The sizes of chunks by their whole names.
        func chunks() -> [String: Int] {
            Dictionary(
                uniqueKeysWithValues: place.names(below: "chunks").map { ($0, place.bytes(of: $0)?.count ?? 0) })
        }

        /// Everything that is stored at the place.
        func stored() -> [[UInt8]] {
            (place.names(below: "chunks") + place.names(below: "moments")).compactMap { place.bytes(of: $0) }
        }
    }

    private func expect(
        _ code: BackupError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
    ) async {
        await #expect(sourceLocation: sourceLocation) { try await body() } throws: { error in
            (error as? BackupError)?.code == code
        }
    }

    @Test(arguments: PlaceKind.allCases, [nil, "correct horse"]) func `a moment is restored byte for byte`(
        kind: PlaceKind, passphrase: String?
    ) async throws {
        let cloud = try Cloud(kind)
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
        let kept = cloud.stored().contains { Data($0).range(of: Data("secret".utf8)) != nil }
        #expect(kept == (passphrase == nil))
    }

    @Test(arguments: PlaceKind.allCases, [nil, "correct horse"])
    func `the moments of another cloud are refused, those of a restored one are not`(
        kind: PlaceKind, passphrase: String?
    ) async throws {
        let cloud = try Cloud(kind)
        let backup = try cloud.open(passphrase)
        let first = try cloud.take(backup)
        cloud.image.facts = StoreFacts(storeID: 9, epoch: 2)
        await expect(.otherCloud) { try cloud.take(backup) }
        #expect(try backup.momentNames() == [first.name])
        cloud.image.facts = StoreFacts(storeID: 1, epoch: 3)
        let second = try cloud.take(backup)
        #expect(try backup.momentNames() == [first.name, second.name])
    }

    @Test(arguments: PlaceKind.allCases)
    func `a second moment with few changes adds little, and each moment keeps its own state`(kind: PlaceKind)
        async throws
    {
        let cloud = try Cloud(kind)
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

    @Test(arguments: PlaceKind.allCases)
    func `a moment that was cut off does not exist, and the next one removes what it left`(kind: PlaceKind) async throws
    {
        let cloud = try Cloud(kind)
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

    @Test(arguments: PlaceKind.allCases)
    func `pruning removes old moments and never what others need`(kind: PlaceKind) async throws {
        let cloud = try Cloud(kind)
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
        cloud.place.advance(7_200_000)
        _ = try PruneMoments(backup).run(keeping: 1)
        #expect(cloud.chunks().count < rest)
        #expect(try cloud.verify(states[4].0).isEmpty)
    }

    @Test(arguments: PlaceKind.allCases)
    func `damage is named by what cannot be restored, and nothing of the moment is restored`(kind: PlaceKind)
        async throws
    {
        let cloud = try Cloud(kind)
        let name = try cloud.take(cloud.open()).name
        #expect(try cloud.verify(name).isEmpty)
        // The only chunks of these sizes: the small file, and the rest of the large one.
        for (size, part) in [(3000, "assets/files/0a/aa0a"), (2_500_000 - 2 << 20, "assets/files/0a/bb0a")] {
            let chunk = try #require(cloud.chunks().first { $0.value == size }).key
            var bytes = try #require(cloud.place.bytes(of: chunk))
            bytes[17] ^= 4
            try cloud.place.set(chunk, bytes)
            let findings = try cloud.verify(name)
            #expect(findings.map(\.part) == [part])
            #expect(findings.first?.problem.contains("its digest does not hold") == true)
            await expect(.damaged) { try await cloud.restore(name) }
            #expect(!FileManager.default.fileExists(atPath: cloud.folder.path + "/restored"))
            #expect(!FileManager.default.fileExists(atPath: cloud.folder.path + "/restored.restoring"))
            bytes[17] ^= 4
            try cloud.place.set(chunk, bytes)
        }
        for chunk in cloud.chunks().keys where cloud.chunks()[chunk] == 65_536 {
            try cloud.place.set(chunk, nil)
            break
        }
        #expect(try cloud.verify(name).map(\.part) == ["store"])
        // Taking the same state again repairs it; in a bucket, where not every chunk is asked for, if all are to be put.
        let second = try cloud.take(cloud.open())
        #expect(second.counts.chunksAdded == (kind == .folder ? 1 : 0))
        if kind == .bucket {
            let backup = try cloud.open()
            backup.putsEverything = true
            #expect(try cloud.take(backup).counts.chunksAdded > 25)
        }
        #expect(try cloud.verify(name).isEmpty)
    }

    @Test(arguments: PlaceKind.allCases)
    func `a manifest that was changed or cut is damaged, and keeps pruning from removing chunks`(kind: PlaceKind)
        async throws
    {
        let cloud = try Cloud(kind)
        let first = try cloud.take(cloud.open()).name
        cloud.image.content[0] ^= 1
        let second = try cloud.take(cloud.open()).name
        let path = "moments/\(second).moment"
        let bytes = try #require(cloud.place.bytes(of: path))
        let chunks = cloud.chunks()
        for changed in [Array(bytes.dropLast(3)), [], bytes.map { $0 == UInt8(ascii: "5") ? UInt8(ascii: "6") : $0 }] {
            try cloud.place.set(path, changed)
            await expect(.damaged) { try await cloud.restore(second) }
            let backup = try cloud.open()
            cloud.place.advance(7_200_000)
            await expect(.damaged) { _ = try PruneMoments(backup).run(keeping: 1) }
            #expect(cloud.chunks() == chunks)
            #expect(try backup.momentNames() == [first, second])
        }
        #expect(try cloud.verify(first).isEmpty)
    }

    @Test(arguments: PlaceKind.allCases)
    func `a sealed backup opens with its passphrase alone`(kind: PlaceKind) async throws {
        let cloud = try Cloud(kind)
        let name = try cloud.take(cloud.open("right")).name
        await expect(.passphraseWrong) { _ = try cloud.open("wrong") }
        await expect(.passphraseMissing) { _ = try cloud.open() }
        await expect(.passphraseWrong) { try await cloud.restore(name, passphrase: "") }
        // A chunk under the name of another one.
        let chunks = cloud.chunks().filter { $0.value == 65_536 + 28 }.keys.sorted()
        try #require(chunks.count > 2)
        let other = try #require(cloud.place.bytes(of: chunks[1]))
        try cloud.place.set(chunks[0], other)
        await expect(.damaged) { try await cloud.restore(name, passphrase: "right") }
        let plain = try Cloud(kind)
        try plain.take(plain.open())
        await expect(.notSealed) { _ = try plain.open("any") }
    }

    @Test(arguments: PlaceKind.allCases)
    func `what is no backup, is newer, in use or not empty is refused`(kind: PlaceKind) async throws {
        let cloud = try Cloud(kind)
        try cloud.folder.write([1], to: "other/file")
        await expect(.notABackup) { _ = try Backup.begin(cloud.folder.path + "/other") }
        await expect(.notABackup) { _ = try Backup.open(cloud.folder.path + "/other") }
        await expect(.unavailable) { _ = try Backup.begin(cloud.folder.path + "/none/below") }
        await expect(.notABackup) { _ = try Backup.open(cloud.place.place()) }
        if kind == .bucket {
            try cloud.place.set("photos/one", [1])
            await expect(.notABackup) { _ = try cloud.open() }
            try cloud.place.set("photos/one", nil)
        }
        let backup = try cloud.open()
        let name = try cloud.take(backup).name
        await expect(.busy) { _ = try cloud.open() }
        await expect(.noSuchMoment) { _ = try backup.manifest("20200101T000000.000Z") }
        await expect(.noSuchMoment) { _ = try backup.manifest("../moments/" + name) }
        try cloud.folder.write([1], to: "full/file")
        await expect(.notEmpty) { try await cloud.restore(name, to: "full") }
        #expect(cloud.folder.files(below: "full") == ["file": [1]])
        try cloud.place.set("welkin-backup.json", Array(#"{"format": 99}"#.utf8))
        await expect(.newerFormat) { _ = try Backup.open(cloud.place.place()) }
    }

    @Test(arguments: PlaceKind.allCases)
    func `a header that asks for endless memory is refused`(kind: PlaceKind) async throws {
        let cloud = try Cloud(kind)
        try cloud.take(cloud.open("right"))
        let header = try #require(cloud.place.bytes(of: "welkin-backup.json"))
        let text = String(decoding: header, as: UTF8.self)
        for (before, after) in [("1024", "1073741824"), ("1024", "1000"), (": 8,", ": 9999,")] {
            let changed = text.replacing(before, with: after)
            #expect(changed != text)
            try cloud.place.set("welkin-backup.json", Array(changed.utf8))
            await expect(.damaged) { _ = try cloud.open("right") }
        }
    }
}
