import Foundation
import OrderedStore
import SeededChance
import Testing

@testable import OrderedStoreSQLite

/// Keys of rows in which a bit has flipped: a row must not be mistaken for one that is missing.
@Suite("Damaged keys", .serialized, .timeLimit(.minutes(3)))
struct DamagedKeyTests {
    private static let rowCount = 500
    private static let names = (0..<rowCount).map { "row/\(10_000 + $0)/key" }

    @Test func `no row is reported missing because of a damaged key`() async throws {
        try await withRows { path, whole in
            var chance = SplitMix64(seed: 21)
            var failures = 0
            for _ in 0..<120 {
                let damaged = try #require(Self.names.randomElement(using: &chance))
                try flip(Int.random(in: 0..<(damaged.utf8.count * 8), using: &chance), of: damaged, in: whole, path)
                let store = try SQLiteStore(path: path)
                // Those beside it, those far away, and one that never was.
                let index = try #require(Self.names.firstIndex(of: damaged))
                let asked =
                    Self.names[max(0, index - 3)..<min(Self.rowCount, index + 4)]
                    + Self.names.shuffled(using: &chance).prefix(60)
                for name in asked {
                    do {
                        #expect(try await store.value(name) == Self.value(name), "\(name) after damage to \(damaged)")
                    } catch let error as StoreError {
                        #expect(error.code == .damagedValue)
                        failures += 1
                    }
                }
                await expect(.damagedValue) { _ = try await store.value(damaged) }
                #expect(store.damage.count > 0, "\(damaged)")
                await store.close()
            }
            #expect(failures >= 120)
        }
    }

    @Test func `no row is reported missing to a read of many keys, some of which are missing`() async throws {
        try await withRows { path, whole in
            var chance = SplitMix64(seed: 23)
            var failures = 0
            for _ in 0..<60 {
                let index = Int.random(in: 3..<Self.rowCount - 4, using: &chance)
                let damaged = Self.names[index]
                try flip(Int.random(in: 0..<(damaged.utf8.count * 8), using: &chance), of: damaged, in: whole, path)
                let store = try SQLiteStore(path: path)
                let rows = Self.names[index - 3...index + 3]
                let asked = rows.flatMap { [$0 + "-", $0, $0 + "/"] }.shuffled(using: &chance)
                do {
                    let found = try await store.read(home) { try await $0.get(asked.map(bytes)) }
                    for (name, value) in zip(asked, found) {
                        #expect((value != nil) == rows.contains(name), "\(name) after damage to \(damaged)")
                    }
                } catch let error as StoreError {
                    #expect(error.code == .damagedValue)
                    failures += 1
                }
                await store.close()
            }
            // The damaged row itself is among those asked for.
            #expect(failures == 60)
        }
    }

    @Test func `a range with a damaged key is an error or whole`() async throws {
        try await withRows { path, whole in
            var chance = SplitMix64(seed: 22)
            for _ in 0..<120 {
                let damaged = try #require(Self.names.randomElement(using: &chance))
                try flip(Int.random(in: 0..<(damaged.utf8.count * 8), using: &chance), of: damaged, in: whole, path)
                let store = try SQLiteStore(path: path)
                await expect(.damagedValue) { _ = try await store.all() }
                for _ in 0..<6 {
                    let first = Int.random(in: 0..<Self.rowCount, using: &chance)
                    let last = Int.random(in: first..<Self.rowCount, using: &chance)
                    let reverse = Bool.random(using: &chance)
                    let limit = Bool.random(using: &chance) ? Int.max : 20
                    let names = Self.names[first...last]
                    let expected = Array((reverse ? Array(names.reversed()) : Array(names)).prefix(limit))
                    do {
                        let range = KeyRange(lower: bytes(Self.names[first]), upper: bytes(Self.names[last]) + [0])
                        let found = try await store.read(home) {
                            try await $0.scan(range, limit: limit, reverse: reverse)
                        }
                        #expect(found.keys == expected)
                    } catch let error as StoreError {
                        #expect(error.code == .damagedValue)
                    }
                }
                await store.close()
            }
        }
    }

    @Test func `an empty range beside a damaged key is an error`() async throws {
        try await withRows { path, whole in
            let damaged = Self.names[200]
            try flip(8 * 4 + 7, of: damaged, in: whole, path)
            let store = try SQLiteStore(path: path)
            await expect(.damagedValue) {
                _ = try await store.read(home) { try await $0.scan(range(damaged, damaged + "0"), limit: 10) }
            }
            let nothing = try await store.read(home) {
                try await $0.scan(range(Self.names[300] + "0", Self.names[300] + "1"), limit: 10)
            }
            #expect(nothing.isEmpty)
            #expect(try await store.value("missing") == nil)
            await store.close()
        }
    }

    @Test func `a row under another partition's number is noticed`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let store = try SQLiteStore(path: path)
            try await store.put(["a": "1", "b": "2", "c": "3"])
            try await store.put(["a": "1", "b": "2"], in: other)
            await store.close()
            try Database(path).execute("UPDATE entries SET partition = 2 WHERE partition = 1 AND key = x'63'")
            await expectDamage(path, other, ["c", "d"])
        }
    }

    @Test func `a damaged name of a partition is not one that was never written to`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let store = try SQLiteStore(path: path)
            for partition in [home, other] { try await store.put(["a": "1"], in: partition) }
            await store.close()
            for change in ["name = CAST('homf' AS BLOB)", "id = 77", "sum = sum + 1"] {
                let copy = folder + "/copy.db"
                try? FileManager.default.removeItem(atPath: copy)
                try FileManager.default.copyItem(atPath: path, toPath: copy)
                try Database(copy).execute("UPDATE partitions SET \(change) WHERE name = CAST('home' AS BLOB)")
                await expectDamage(copy, home, ["a"])
                let again = try SQLiteStore(path: copy)
                await expect(.damagedValue) { try await again.put(["b": "2"]) }
                #expect(try await again.value("a", in: other) == "1")
                await again.close()
            }
        }
    }

    @Test func `rows are read on past a damaged one`() async throws {
        try await withRows { path, whole in
            try flip(8 * 8 + 7, of: Self.names[200], in: whole, path)
            let store = try SQLiteStore(path: path)
            let rows = try await store.read(home) { try await $0.rows(everything, limit: .max) }
            #expect(rows.count == Self.rowCount)
            #expect(rows.filter { $0.value == nil }.count == 1)
            #expect(try await store.read(home) { try await $0.rows(everything, limit: 7) }.count == 7)
            await store.close()
        }
    }

    private func expectDamage(_ path: String, _ partition: Partition, _ keys: [String]) async {
        do {
            let store = try SQLiteStore(path: path)
            for key in keys { await expect(.damagedValue) { _ = try await store.value(key, in: partition) } }
            await store.close()
        } catch {
            Issue.record(error)
        }
    }

    private static func value(_ name: String) -> String {
        name + String(repeating: ".", count: name.hasSuffix("7/key") ? 300 : 60)
    }

    /// Runs `body` with the file of a store whose tree of keys has inner pages.
    private func withRows(_ body: (_ path: String, _ whole: Data) async throws -> Void) async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let store = try SQLiteStore(path: path)
            for name in Self.names { try await store.put([name: Self.value(name)]) }
            await store.close()
            try await body(path, Data(contentsOf: URL(filePath: path)))
        }
    }

    /// Flips a bit of a key wherever the file has it: in the tree, and in what is left of earlier pages.
    private func flip(_ bit: Int, of name: String, in whole: Data, _ path: String) throws {
        var damaged = whole
        let key = Data(name.utf8)
        var start = whole.startIndex
        while let place = whole.range(of: key, in: start..<whole.endIndex) {
            start = place.upperBound
            // Not in the value, which repeats the key.
            if whole[start...].starts(with: Data("..".utf8)) { continue }
            damaged[place.lowerBound + bit / 8] ^= 1 << UInt8(bit % 8)
        }
        #expect(damaged != whole)
        for end in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
        try damaged.write(to: URL(filePath: path))
    }
}
