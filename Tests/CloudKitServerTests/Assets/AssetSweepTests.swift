import CloudKitModel
import CloudKitServer
import FileStore
import OrderedStore
import SeededChance
import Synchronization
import TestEnvironment
import Testing

@Suite(.timeLimit(.minutes(20))) struct AssetSweepTests {
    @Test(arguments: Engine.allCases)
    func `B-AST-02 unreferenced files are deleted after their grace period, and none before`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let value = try await test.upload([1, 2, 3])
            // Never saved: the receipt may still come.
            test.time.advance(24 * 3_600_000 - 1)
            #expect(try await test.sweep() == 0)
            let saved = try #require(
                try await test.modify([create("R", "Note", try asset("photo", value))])[0].record)
            test.time.advance(365 * longEnough)
            #expect(try await test.sweep() == 0)
            let held = try saved.assets()[0]
            _ = try await test.modify([save(.update, "R", tag: saved.changeTag, .remove(name: "photo"))])
            #expect(try await test.sweep() == 0)
            test.time.advance(3_600_000 - 1)
            #expect(try await test.sweep() == 0)
            #expect(try await test.download(held) == [1, 2, 3])
            test.time.advance(2)
            #expect(try await test.sweep() == 1)
            await expect(.assetNotAvailable) { _ = try await test.download(held) }
            #expect(try await test.sweep() == 0)
        }
    }

    @Test func `B-AST-02 a replaced, deleted or cascaded record, and a zone that goes, let their files go`()
        async throws
    {
        try await withCloud { test in
            func fill(_ zone: String) async throws -> Record {
                try await test.makeZone(zone)
                for name in ["deleted", "owner", "owned", "kept"] {
                    let value = try await test.upload(Array(name.utf8), for: name, zone: zone)
                    _ = try await test.modify(
                        [create(name, "Note", try asset("photo", value), reference("to", to: "owner", .deleteSelf))],
                        zone: zone)
                }
                return try #require(try await test.record("kept", zone: zone))
            }
            let kept = try await fill("Z")
            #expect(try await test.fileIDs().count == 4)
            _ = try await test.modify([
                save(.forceUpdate, "kept", .remove(name: "to")), delete("deleted"),
            ])
            _ = try await test.modify([delete("owner")])
            test.time.advance(longEnough)
            #expect(try await test.sweep() == 3)
            #expect(try await test.fileIDs() == [try #require(try kept.assets()[0].fileID)])
            let new = try await test.upload([1], for: "kept")
            _ = try await test.modify([save(.forceReplace, "kept", try asset("photo", new))])
            test.time.advance(longEnough)
            #expect(try await test.sweep() == 1)

            _ = try await fill("purged")
            _ = try await fill("reset")
            _ = try await fill("deleted")
            test.time.advance(longEnough)
            #expect(try await test.sweep() == 0)
            try await EndZone(test.cloud).purge("purged", of: TestCloud.ada, in: TestCloud.container, .development)
            try await EndZone(test.cloud).resetKeys(
                ofZone: "reset", of: TestCloud.ada, in: TestCloud.container, .development)
            let zone = ZoneID(zoneName: "deleted")
            _ = try await ModifyZones(test.cloud).run(
                [.delete(zone), .create(zone)], in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            // The first sweep sees that the zones went; the time of grace begins.
            #expect(try await test.sweep() == 0)
            test.time.advance(3_600_001)
            #expect(try await test.sweep() == 12)
            #expect(try await test.fileIDs().count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an asset that is used again stays until the last record is gone`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.makeZone("Y")
            var value = try await test.upload([1, 2, 3])
            value.wrappingKey = "K"
            _ = try await test.modify([create("R", "Note", try asset("photo", value), text("title", "t"))])
            let outcomes = try await RereferenceAssets(test.cloud).run(
                RereferenceAssetsRequest(
                    items: [
                        .init(recordName: "R", fieldName: "photo"), .init(recordName: "R", fieldName: "title"),
                        .init(recordName: "missing", fieldName: "photo"),
                    ], zoneID: ZoneID(zoneName: "Z"), targetZoneID: ZoneID(zoneName: "Y")),
                in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            guard case .asset(let again) = outcomes[0], case .failed(_, let title) = outcomes[1],
                case .failed(_, let missing) = outcomes[2]
            else { throw RequestFailure(.internalError, "\(outcomes)") }
            #expect(title.code == .badRequest)
            #expect(missing.code == .itemNotFound)
            #expect(again.wrappingKey == "K")
            #expect(again.fileID == nil)
            // The receipt holds the file, though its only record goes.
            _ = try await test.modify([delete("R")])
            test.time.advance(23 * 3_600_000)
            #expect(try await test.sweep() == 0)
            let wrongZone = try await test.modify([create("S", "Note", try asset("photo", again))])[0]
            #expect(wrongZone.failure?.reason == "invalid asset receipt")
            let saved = try await test.modify([create("S", "Other", try asset("cover", again))], zone: "Y")[0].record
            test.time.advance(longEnough)
            #expect(try await test.sweep() == 0)
            #expect(try await test.download(try #require(try saved?.assets("cover").first)) == [1, 2, 3])
            _ = try await test.modify([delete("S")], zone: "Y")
            test.time.advance(longEnough)
            #expect(try await test.sweep() == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-AST-02 the files of a database that is newer than the first sweep stay`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            func saveFile(by user: UserID) async throws {
                let caller = Caller(user: user)
                try await test.makeZone(of: user)
                let value = try await test.upload([1, 2, 3], by: caller)
                #expect(
                    try await test.modify([create("R", "Note", try asset("photo", value))], by: caller)[0].record != nil
                )
            }
            try await saveFile(by: TestCloud.ada)
            #expect(try await test.sweep() == 0)
            try await saveFile(by: TestCloud.bob)
            test.time.advance(365 * longEnough)
            #expect(try await test.sweep() == 0)
            #expect(try await test.fileIDs().count == 2)
        }
    }

    @Test func `abandoned uploads and files left by a crash are swept`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let token = try await test.ticket().url
            var piece = try await OpenAssetUpload(test.cloud).run(token).receivePiece(at: 0, of: 9)
            try await piece.receive([1])
            try await piece.pause()
            // A file that was sealed, but that no database refers to.
            let orphan = try #require(FileID(bytes: [UInt8](repeating: 9, count: 20)))
            try await test.files.append([1], to: orphan, at: 0)
            try await test.files.seal(orphan)
            test.time.advance(24 * 3_600_000)
            #expect(try await test.sweep() == 0)
            test.time.advance(1)
            #expect(try await test.sweep() == 1)
            #expect(try await test.files.drafts() == [])
            test.time.advance(24 * 3_600_000)
            #expect(try await test.sweep() == 1)
        }
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `a file whose database forgot it before a crash is deleted later`(seed: UInt64) async throws {
        let time = TestServerEnvironment()
        let store = MemoryStore(epoch: 7)
        let files = DyingFiles(MemoryFileStore(now: { time.now }))
        let test = TestCloud(store: store, files: files, time: time)
        try await test.makeZone()
        for index in 0..<8 {
            _ = try await test.upload([UInt8(index)], for: "R\(index)")
        }
        time.advance(longEnough)
        files.deletionsLeft = Int(seed)
        for folder in UInt8.min ... .max { _ = try? await SweepAssets(test.cloud).run(inFolder: folder) }
        #expect(try await test.fileIDs().count == 8 - Int(seed))
        files.deletionsLeft = .max
        time.advance(2 * longEnough)
        try await test.sweep()
        #expect(try await test.fileIDs().isEmpty)
    }

    @Test(arguments: Engine.allCases, [UInt64(1), 2, 3])
    func `B-AST-02 nothing referred to is missing, nothing else stays`(_ engine: Engine, seed: UInt64) async throws {
        try await withCloud(engine) { test in
            var simulation = AssetSimulation(test: test, chance: SplitMix64(seed: seed))
            try await simulation.run(steps: engine == .memory ? 150 : 40)
        }
    }

    @Test(arguments: [UInt64(11), 12, 13, 14])
    func `a sweep during saves never deletes a file that is saved`(seed: UInt64) async throws {
        try await withCloud { test in
            var chance = SplitMix64(seed: seed)
            try await test.makeZone()
            for round in 0..<20 {
                let name = "R\(round)"
                let value = try await test.upload([UInt8(round)], for: name)
                // Around the very time at which the receipt ends.
                test.time.advance(24 * 3_600_000 + Int64.random(in: -2...3_600_002, using: &chance))
                async let outcome = test.modify([create(name, "Note", try asset("photo", value))])
                async let swept = test.sweep()
                let saved = try await outcome[0]
                _ = try await swept
                if let held = try saved.record?.assets().first {
                    #expect(try await test.download(held) == [UInt8(round)])
                } else {
                    #expect(saved.code == .assetNotAvailable)
                }
            }
        }
    }
}

/// Random saves, copies, deletions of records and zones, abandoned uploads and restarts, with sweeps between them.
private struct AssetSimulation {
    let test: TestCloud
    var chance: SplitMix64
    /// The bytes of each record's assets.
    private var model: [String: [String: [UInt8]]] = ["Z0": [:], "Z1": [:]]
    private var next = 0

    init(test: TestCloud, chance: SplitMix64) {
        self.test = test
        self.chance = chance
    }

    mutating func run(steps: Int) async throws {
        for zone in model.keys { try await test.makeZone(zone) }
        for step in 0..<steps {
            try await self.step()
            test.time.advance(Int64.random(in: 0...7_200_000, using: &chance))
            if step % 10 == 9 {
                try await test.sweep()
                try await check()
            }
        }
        for _ in 0..<3 {
            test.time.advance(3 * longEnough)
            try await test.sweep()
        }
        let referred = try await check()
        #expect(try await test.fileIDs() == referred)
        #expect(try await test.files.drafts() == [])
    }

    private mutating func step() async throws {
        let zone = Bool.random(using: &chance) ? "Z0" : "Z1"
        let name = "R\(Int.random(in: 0..<6, using: &chance))"
        switch Int.random(in: 0..<10, using: &chance) {
        case 0: try await remake(zone)
        case 1, 2:
            _ = try await test.modify([delete(name)], zone: zone)
            model[zone]?[name] = nil
        case 3: try await copy(name, from: zone, to: zone == "Z0" ? "Z1" : "Z0")
        case 4: try await abandon(name, zone)
        default: try await save(name, zone)
        }
    }

    private mutating func save(_ name: String, _ zone: String) async throws {
        next += 1
        let bytes = Array("file \(next)".utf8)
        let value = try await test.upload(bytes, for: name, zone: zone)
        let fails = Int.random(in: 0..<4, using: &chance) == 0
        var operations = [CloudKitServerTests.save(.forceUpdate, name, try asset("photo", value))]
        if fails {
            operations.append(CloudKitServerTests.save(.update, "missing", tag: ChangeTag("0"), text("a", "b")))
        }
        let outcome = try await test.modify(operations, zone: zone)[0]
        #expect((outcome.record != nil) == !fails)
        if !fails { model[zone]?[name] = bytes }
    }

    private mutating func copy(_ name: String, from zone: String, to other: String) async throws {
        guard let bytes = model[zone]?[name] else { return }
        let outcome = try await RereferenceAssets(test.cloud).run(
            RereferenceAssetsRequest(
                items: [.init(recordName: name, fieldName: "photo")], zoneID: ZoneID(zoneName: zone),
                targetZoneID: ZoneID(zoneName: other)), in: TestCloud.address(.private), by: Caller(user: TestCloud.ada)
        )
        guard case .asset(let value)? = outcome.first else {
            Issue.record("no asset: \(outcome)")
            return
        }
        _ = try await test.modify(
            [CloudKitServerTests.save(.forceUpdate, name, try asset("photo", value))], zone: other)
        model[other]?[name] = bytes
    }

    /// An upload that is begun, or ended, and never saved.
    private mutating func abandon(_ name: String, _ zone: String) async throws {
        if Bool.random(using: &chance) {
            _ = try await test.upload([0], for: name, zone: zone)
        } else {
            let token = try await test.ticket(name, zone: zone).url
            var piece = try await OpenAssetUpload(test.cloud).run(token).receivePiece(at: 0, of: 9)
            try await piece.receive([1])
        }
    }

    private mutating func remake(_ zone: String) async throws {
        let id = ZoneID(zoneName: zone)
        _ = try await ModifyZones(test.cloud).run(
            [.delete(id), .create(id)], in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
        model[zone] = [:]
    }

    /// Every record has its file; the names of those files.
    @discardableResult
    private func check() async throws -> Set<String> {
        var referred: Set<String> = []
        for (zone, records) in model {
            for (name, bytes) in records {
                let record = try #require(try await test.record(name, zone: zone))
                let held = try #require(try record.assets().first)
                #expect(try await test.download(held) == bytes)
                referred.insert(try #require(held.fileID))
            }
        }
        return referred
    }
}

/// Files of a process that is killed after so many deletions.
private final class DyingFiles: FileStore {
    private let files: MemoryFileStore
    private let left = Mutex(Int.max)

    init(_ files: MemoryFileStore) { self.files = files }

    var deletionsLeft: Int {
        get { left.withLock { $0 } }
        set { left.withLock { $0 = newValue } }
    }

    func delete(_ id: FileID) throws {
        try left.withLock { left in
            guard left > 0 else { throw CancellationError() }
            left -= 1
        }
        files.delete(id)
    }

    func draftLength(of id: FileID) -> Int64? { files.draftLength(of: id) }
    func append(_ bytes: [UInt8], to id: FileID, at offset: Int64) throws {
        try files.append(bytes, to: id, at: offset)
    }
    func readDraft(_ id: FileID, at offset: Int64, count: Int) throws -> [UInt8] {
        try files.readDraft(id, at: offset, count: count)
    }
    func synchronize(_ id: FileID) {}
    func seal(_ id: FileID) { files.seal(id) }
    func length(of id: FileID) -> Int64? { files.length(of: id) }
    func read(_ id: FileID, at offset: Int64, count: Int) throws -> [UInt8] {
        try files.read(id, at: offset, count: count)
    }
    func files(inFolder folder: UInt8) -> [FileEntry] { files.files(inFolder: folder) }
    func drafts() -> [FileEntry] { files.drafts() }
    func freeBytes() -> Int64 { files.freeBytes() }
}
