import Foundation
import OrderedStore
import OrderedStoreSQLite
import SeededChance
import Testing

@testable import CloudBackup

/// Changes that are sent between moments: every state that a restoration gives was one of the cloud's.
@Suite(.timeLimit(.minutes(10))) struct ChangesTests {
    /// A store, files, and a backup that gets their changes. Its time is that of its own steps.
    private final class Cloud {
        let folder: TestFolder
        let place: TestPlace
        let store: SQLiteStore
        let access: BackupAccess
        let backup: Backup
        let follower: LogFollower
        let stream: ChangeStream
        private let changes: CloudChanges
        private let sender: ChangeSender
        private var chance: SplitMix64
        /// The sum of all values, by the time from which on it was the state.
        private(set) var states: [(time: Int64, number: UInt64)] = []
        private(set) var number: UInt64 = 0

        private static let parts = (0..<3).map { Partition("part \($0)") }

        final class Time: Sendable {
            private let place: TestPlace

            init(_ place: TestPlace) { self.place = place }

            var now: Int64 { place.now }

            func step() { place.advance(1000) }
        }

        let time: Time

        init(_ kind: PlaceKind, seed: UInt64, access: BackupAccess = BackupAccess(), pagesMax: Int = 64) async throws {
            folder = try TestFolder()
            place = TestPlace(kind, in: folder)
            let time = Time(place)
            self.time = time
            self.access = access
            chance = SplitMix64(seed: seed)
            try FileManager.default.createDirectory(
                atPath: folder.path + "/data/assets/files/0a", withIntermediateDirectories: true)
            try folder.write(Array("first".utf8), to: "data/settings")
            let path = folder.path + "/data/store"
            var options = SQLiteStore.Options()
            options.checkpointPages = 16
            store = try SQLiteStore(path: path, options: options)
            backup = try Backup.begin(place.place(), access)
            follower = try LogFollower(path: path, pagesMax: pagesMax)
            stream = ChangeStream(backup, series: "a1", at: time.now)
            backup.activeSeries = "a1"
            let source = Self.source(folder)
            changes = try CloudChanges(stream, now: { time.now }, source: source)
            sender = ChangeSender(stream, backup, source: source)
        }

        static func source(_ folder: TestFolder) -> () throws -> BackupSource {
            { BackupSource(folder: folder.path + "/data", immutableFiles: "assets/files", files: ["settings"]) }
        }

        /// Writes the next number to all partitions, and much else; a file of that name was there before.
        func write() async throws {
            number += 1
            let number = number
            try folder.write([UInt8(truncatingIfNeeded: number)], to: "data/assets/files/0a/f\(number)")
            try folder.write(Array("settings \(number)".utf8), to: "data/settings")
            let rows = (0..<4).map { _ in
                (UInt8.random(in: 1...40, using: &chance), Int.random(in: 1...9000, using: &chance))
            }
            let removed = UInt8.random(in: 1...40, using: &chance)
            try await store.write(Self.parts) { transaction in
                for part in Self.parts {
                    try transaction.set(
                        [0], (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }, in: part)
                }
                transaction.clear(KeyRange(lower: [removed], upper: [removed + 3]))
                for (key, count) in rows {
                    transaction.set([key], [UInt8](repeating: UInt8(number & 0xFF), count: count))
                }
            }
        }

        func look() throws {
            time.step()
            states.append((time.now, number))
            try changes.look {
                try follower.advance().map {
                    StoreChanges(pageBytes: LogFollower.pageBytes, pageCount: $0.pageCount, pages: $0.pages)
                }
            }
            time.step()
        }

        @discardableResult
        func send() throws -> Bool { try sender.send() }

        /// Takes a moment; what `meanwhile` does is done while it is taken.
        @discardableResult
        func take(meanwhile: () throws -> Void = {}) throws -> BackupManifest {
            time.step()
            let start = time.now
            states.append((start, number))
            let search = ChangePositionSearch(stream, now: { [time] in time.now })
            return try SQLiteStore.withState(path: folder.path + "/data/store") { state in
                search.stateChosen()
                try meanwhile()
                return try TakeMoment(backup, now: { [time] in time.now }).run(
                    Image(state: state), Self.source(folder)(), at: start, program: "test",
                    position: {
                        // As the threads that look and send do.
                        try look()
                        try send()
                        return try search.found(isCancelled: { false })
                    })
            }
        }

        struct Restored {
            var number: UInt64
            var files: Int
            var settings: String
        }

        /// Restores a time as another machine does.
        func restore(
            until time: Int64?, acceptsDamage: Bool = false, access: BackupAccess? = nil
        ) async throws -> (state: Restored, plan: ChangePlan) {
            let backup = try Backup.open(place.place(), access ?? self.access)
            let plan = try backup.plan(until: time, acceptsDamage: acceptsDamage)
            let target = folder.path + "/restored"
            try? FileManager.default.removeItem(atPath: target)
            try await RestoreMoment(backup).run(
                try backup.manifest(plan.moment), to: target, storeName: "store", immutableFiles: "assets/files",
                applying: plan, finish: { _ in })
            let store = try SQLiteStore(path: target + "/store")
            var numbers: Set<UInt64> = []
            for part in Self.parts {
                let value = try await store.read(part) { try await $0.get([0]) }
                numbers.insert((value ?? []).reduce(0) { $0 << 8 | UInt64($1) })
                // Verifies the checksum of each row.
                _ = try await store.read(part) {
                    try await $0.scan(KeyRange(lower: [0], upper: [0xFF]), limit: .max)
                }
            }
            #expect(numbers.count == 1, "of one commit")
            #expect(try await store.integrityProblems().isEmpty)
            await store.close()
            let number = numbers.first ?? 0
            let files = folder.files(below: "restored/assets/files/0a")
            if number > 0 {
                for named in 1...number {
                    #expect(files["f\(named)"] == [UInt8(truncatingIfNeeded: named)], "\(named)")
                }
            }
            let settings = String(decoding: folder.bytes(of: "restored/settings") ?? [], as: UTF8.self)
            return (Restored(number: number, files: files.count, settings: settings), plan)
        }

        /// The number at a time.
        func number(at time: Int64) -> UInt64 { states.last { $0.time <= time }?.number ?? 0 }

        func close() async {
            follower.close()
            await store.close()
        }
    }

    private struct Image: StoreImage {
        let state: StoreState

        var byteCount: Int64 { state.byteCount }
        var facts: StoreFacts { StoreFacts(storeID: 1, epoch: 2) }

        func bytes(at offset: Int64, count: Int) throws -> [UInt8] { try state.bytes(at: offset, count: count) }
    }

    private func expect(
        _ code: BackupError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
    ) async {
        await #expect(sourceLocation: sourceLocation) { try await body() } throws: { error in
            (error as? BackupError)?.code == code
        }
    }

    @Test(arguments: PlaceKind.allCases, [1, 2, 3] as [UInt64])
    func `a restoration to any time gives the state of a commit around that time`(
        kind: PlaceKind, seed: UInt64
    ) async throws {
        let owner = BackupPrivateKey()
        let folder = try TestFolder()
        let access =
            seed == 1
            ? BackupAccess()
            : seed == 2
                ? BackupAccess(passphrase: "right", cost: 1024)
                : BackupAccess(recipient: owner.recipient, writingKeys: folder.path + "/keys")
        let reading = seed == 3 ? BackupAccess(privateKey: owner) : access
        let cloud = try await Cloud(kind, seed: seed, access: access)
        var chance = SplitMix64(seed: seed &* 77)
        try await cloud.write()
        try cloud.take()
        for round in 1...40 {
            for _ in 0..<Int.random(in: 0...3, using: &chance) { try await cloud.write() }
            if Bool.random(using: &chance) { try cloud.look() }
            if Bool.random(using: &chance) { try cloud.send() }
            if round % 13 == 0 {
                try cloud.take(meanwhile: {
                    try cloud.look()
                    try cloud.send()
                })
            }
        }
        try await cloud.write()
        try cloud.look()
        while try cloud.send() {}
        // Everything that was committed is there.
        let newest = try await cloud.restore(until: nil, access: reading)
        #expect(newest.state.number == cloud.number)
        #expect(newest.state.settings == "settings \(cloud.number)")
        #expect(newest.plan.count > 0)
        let first = try #require(cloud.states.first).time
        for _ in 0..<12 {
            let time = Int64.random(in: first...cloud.time.now, using: &chance)
            let restored = try await cloud.restore(until: time, access: reading)
            #expect(restored.plan.time <= time)
            #expect(restored.state.number == cloud.number(at: restored.plan.time), "seed \(seed), time \(time)")
        }
        let reader = try Backup.open(cloud.place.place(), reading)
        for name in try reader.momentNames() {
            #expect(try VerifyChanges(reader).run(from: name, isNewest: false) == [])
        }
        await expect(.noSuchMoment) { _ = try await cloud.restore(until: first - 1, access: reading) }
        await cloud.close()
    }

    @Test func `the log of the store starts over although it is followed, and no commit is missed`() async throws {
        let cloud = try await Cloud(.folder, seed: 9, pagesMax: 32)
        try await cloud.write()
        try cloud.take()
        for _ in 0..<150 {
            try await cloud.write()
            try cloud.look()
        }
        try cloud.send()
        var status = stat()
        #expect(stat(cloud.folder.path + "/data/store-wal", &status) == 0)
        // Without starting over it would have more than 1,500 pages.
        #expect(status.st_size < 300 * 8216, "\(status.st_size)")
        #expect(try await cloud.restore(until: nil).state.number == cloud.number)
        await cloud.close()
    }

    @Test func `commits of another connection and checkpoints between looks are not missed`() async throws {
        let cloud = try await Cloud(.folder, seed: 11, pagesMax: 100_000)
        try await cloud.write()
        try cloud.take()
        let other = try SQLiteStore(path: cloud.folder.path + "/data/store")
        for round in 0..<60 as Range<UInt8> {
            try await other.write([Partition("other")]) { $0.set([round], [UInt8](repeating: round, count: 3000)) }
            if round % 3 == 0 { try await cloud.write() }
            if round % 5 == 0 { try cloud.look() }
            if round % 7 == 0 { try cloud.send() }
        }
        try cloud.look()
        while try cloud.send() {}
        #expect(try await cloud.restore(until: nil).state.number == cloud.number)
        let restored = try SQLiteStore(path: cloud.folder.path + "/restored/store")
        let rows = try await restored.read(Partition("other")) {
            try await $0.scan(KeyRange(lower: [0], upper: [0xFF]), limit: .max)
        }
        #expect(rows.map(\.value.count) == [Int](repeating: 3000, count: 60))
        await restored.close()
        await other.close()
        await cloud.close()
    }

    @Test(arguments: PlaceKind.allCases)
    func `a damaged or missing segment is told, and what lies before it is restored when asked`(
        kind: PlaceKind
    ) async throws {
        let cloud = try await Cloud(kind, seed: 4)
        try await cloud.write()
        try cloud.take()
        var numbers: [UInt64] = []
        for _ in 0..<6 {
            try await cloud.write()
            try cloud.look()
            try cloud.send()
            numbers.append(cloud.number)
        }
        let segments = cloud.place.names(below: "changes").filter { $0.hasSuffix(".pages") }.sorted()
        // The first is that of the moment itself.
        #expect(segments.count >= 6)
        let (victim, before) = (segments[segments.count - 3], numbers[2])
        let bytes = try #require(cloud.place.bytes(of: victim))
        var changed = bytes
        changed[bytes.count / 2] ^= 4
        let another = try #require(cloud.place.bytes(of: segments[segments.count - 2]))
        for damage in [changed, Array(bytes.dropLast(100)), another, nil] {
            try cloud.place.set(victim, damage)
            await expect(.damaged) { _ = try await cloud.restore(until: nil) }
            #expect(!FileManager.default.fileExists(atPath: cloud.folder.path + "/restored"))
            let reader = try Backup.open(cloud.place.place())
            let findings = try VerifyChanges(reader).run(from: try #require(reader.momentNames().last), isNewest: true)
            #expect(findings.count == 1 && findings[0].part == "changes")
            let restored = try await cloud.restore(until: nil, acceptsDamage: true)
            #expect(restored.state.number == before)
            #expect(restored.plan.damage != nil)
            try FileManager.default.removeItem(atPath: cloud.folder.path + "/restored")
        }
        try cloud.place.set(victim, bytes)
        #expect(try await cloud.restore(until: nil).state.number == cloud.number)
        await cloud.close()
    }

    @Test func `pruning keeps the segments and files behind the moments that stay`() async throws {
        let cloud = try await Cloud(.folder, seed: 6)
        try await cloud.write()
        try cloud.take()
        for _ in 0..<3 {
            for _ in 0..<3 {
                try await cloud.write()
                try cloud.look()
                try cloud.send()
            }
            try cloud.take()
        }
        try await cloud.write()
        try cloud.look()
        try cloud.send()
        let before = cloud.place.names(below: "changes").count
        let kept = try #require(cloud.backup.momentNames().suffix(2).first)
        let time = try cloud.backup.manifest(kept).time
        _ = try PruneMoments(cloud.backup).run(keeping: 2)
        #expect(cloud.place.names(below: "changes").count < before)
        #expect(try await cloud.restore(until: nil).state.number == cloud.number)
        #expect(try await cloud.restore(until: time + 5000).state.number > 0)
        // Another run of the cloud: the segments of the old series go with its last moment.
        await cloud.close()
        cloud.backup.activeSeries = "b2"
        let image = MemoryImage(content: [UInt8](repeating: 1, count: 8192))
        cloud.time.step()
        _ = try TakeMoment(cloud.backup, now: { 0 }).run(
            image, BackupSource(folder: cloud.folder.path + "/none", immutableFiles: "x", files: []),
            at: cloud.time.now, program: "test")
        _ = try PruneMoments(cloud.backup).run(keeping: 1)
        #expect(cloud.place.names(below: "changes") == [])
    }

    @Test func `a place that fails is tried again with the same segment, and nothing is lost`() async throws {
        let cloud = try await Cloud(.folder, seed: 8)
        try await cloud.write()
        try cloud.take()
        let changes = cloud.folder.path + "/backup/changes/a1"
        try await cloud.write()
        try cloud.look()
        // A folder in the place of the segment's draft: nothing can be written there.
        let name = ChangeSegment.filesName("a1", cloud.stream.status.number + 1)
        let blocked = cloud.folder.path + "/backup/" + name + ".new"
        try FileManager.default.createDirectory(atPath: blocked, withIntermediateDirectories: true)
        for _ in 0..<3 {
            #expect(throws: BackupError.self) { try cloud.send() }
            try await cloud.write()
            try cloud.look()
        }
        #expect(cloud.stream.lag(at: cloud.time.now) > 5000)
        try FileManager.default.removeItem(atPath: blocked)
        while try cloud.send() {}
        #expect(cloud.stream.lag(at: cloud.time.now) <= 1000)
        #expect(FileManager.default.fileExists(atPath: changes))
        #expect(try await cloud.restore(until: nil).state.number == cloud.number)
        await cloud.close()
    }

    @Test func `a series whose first moment was never finished is passed over, and removed with the next`() async throws
    {
        let cloud = try await Cloud(.folder, seed: 12)
        try await cloud.write()
        try cloud.take()
        try await cloud.write()
        try cloud.look()
        try cloud.send()
        let sent = cloud.number
        // The cloud died, began again, sent changes, and died before its moment was whole.
        let died = ChangeStream(cloud.backup, series: "z9", at: cloud.time.now)
        died.add(
            StoreChanges(pageBytes: 8192, pageCount: 1, pages: [1: [UInt8](repeating: 7, count: 8192)]),
            at: cloud.time.now)
        let sender = ChangeSender(died, cloud.backup, source: Cloud.source(cloud.folder))
        #expect(try sender.send())
        #expect(cloud.place.names(below: "changes/z9").count == 1)
        #expect(try await cloud.restore(until: nil).state.number == sent)
        try cloud.take()
        _ = try PruneMoments(cloud.backup).run(keeping: 1)
        #expect(cloud.place.names(below: "changes/z9") == [])
        #expect(try await cloud.restore(until: nil).state.number == cloud.number)
        await cloud.close()
    }

    @Test func `more than may wait ends the series, and a process that died leaves what was sent`() async throws {
        let cloud = try await Cloud(.folder, seed: 10)
        try await cloud.write()
        try cloud.take()
        try await cloud.write()
        try cloud.look()
        try cloud.send()
        let sent = cloud.number
        let small = ChangeStream(cloud.backup, series: "c3", at: 0, bytesMax: 100_000)
        let page = [UInt8](repeating: 1, count: 8192)
        for number in 1...13 as ClosedRange<UInt32> {
            #expect(!small.status.isBroken)
            small.add(StoreChanges(pageBytes: 8192, pageCount: 20, pages: [number: page]), at: Int64(number))
        }
        #expect(small.status.isBroken)
        // Committed and seen, but not sent when the process died.
        try await cloud.write()
        try cloud.look()
        #expect(try await cloud.restore(until: nil).state.number == sent)
        await cloud.close()
    }
}
