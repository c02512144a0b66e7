import CSQLite
import Foundation
import OrderedStore
import SeededChance
import Testing

@testable import OrderedStoreSQLite

@Suite("Checksums of values", .serialized, .timeLimit(.minutes(2)))
struct ValueChecksumTests {
    @Test(
        arguments: [
            ("", 0xEF46_DB37_51D8_E999), ("a", 0xD24E_C4F1_A98C_6E5B), ("abc", 0x44BC_2CF5_AD77_0999),
            ("Nobody inspects the spammish repetition", 0xFBCE_A83C_8A37_8BF1),
        ] as [(String, UInt64)])
    func `the hash has the published values`(text: String, hash: UInt64) {
        #expect(XXHash64.hash(bytes(text), seed: 0) == hash)
    }

    @Test func `a checksum depends on the store, the partition, the key and the value`() {
        let sums = Set([
            ValueChecksum(of: home, id: 1, salt: 1).sum([1], [2] as Bytes),
            ValueChecksum(of: home, id: 1, salt: 2).sum([1], [2] as Bytes),
            ValueChecksum(of: home, id: 2, salt: 1).sum([1], [2] as Bytes),
            ValueChecksum(of: other, id: 1, salt: 1).sum([1], [2] as Bytes),
            ValueChecksum(of: home, id: 1, salt: 1).sum([1, 2], [] as Bytes),
            ValueChecksum(of: home, id: 1, salt: 1).sum([2], [1] as Bytes),
        ])
        #expect(sums.count == 6)
    }

    @Test func `the upper part of a checksum is the key's, in its partition and store`() {
        for sum in [
            ValueChecksum(of: home, id: 1, salt: 1).sum([1]), ValueChecksum(of: home, id: 1, salt: 1).sum([1], [2]),
        ] {
            #expect(ValueChecksum.holds(sum, key: [1], partition: 1, salt: 1))
            #expect(!ValueChecksum.holds(sum, key: [2], partition: 1, salt: 1))
            #expect(!ValueChecksum.holds(sum, key: [1], partition: 2, salt: 1))
            #expect(!ValueChecksum.holds(sum, key: [1], partition: 1, salt: 2))
            // A number of 48 bits.
            #expect(sum == (sum << 16) >> 16)
        }
    }

    @Test func `a changed byte is an error of its key alone`() async throws {
        for length in [20, 3000] {
            try await expectDamage(length: length) { store in
                let table = length > Format.inlineBytesMax ? "contents" : "entries"
                let filter = length > Format.inlineBytesMax ? "rowid = 2" : "key = x'62'"
                return "UPDATE \(table) SET value = CAST(replace(value, x'62', x'63') AS BLOB) WHERE \(filter)"
            }
        }
    }

    @Test func `a value under the key of another is noticed`() async throws {
        for length in [20, 3000] {
            try await expectDamage(length: length) { _ in
                "UPDATE entries SET (value, sum) = (SELECT value, sum FROM entries WHERE key = x'61') WHERE key = x'62'"
            }
        }
    }

    @Test func `a value of another type is noticed`() async throws {
        try await expectDamage(length: 20) { _ in
            "UPDATE entries SET value = CAST(value AS TEXT) WHERE key = x'62'"
        }
        try await expectDamage(length: 20) { _ in "UPDATE entries SET value = 77 WHERE key = x'62'" }
    }

    @Test func `values of another partition or store are noticed`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let store = try SQLiteStore(path: path)
            try await store.put(["a": "1"])
            try await store.put(["b": "1"], in: other)
            await store.close()
            try change(path, "UPDATE partitions SET id = 9 - id; UPDATE partitions SET id = id - 6")
            let again = try SQLiteStore(path: path)
            await expect(.damagedValue) { _ = try await again.value("a", in: other) }
            #expect(again.damage.count == 1)
            await again.close()
            try change(path, "UPDATE partitions SET id = 9 - id; UPDATE partitions SET id = id - 6")
            try change(path, "UPDATE store SET identity = CAST(substr(identity, 1, 8) || x'0102030405060708' AS BLOB)")
            let foreign = try SQLiteStore(path: path)
            await expect(.damagedValue) { _ = try await foreign.value("a") }
            await foreign.close()
        }
    }

    @Test func `a damaged value can be replaced and removed`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let store = try SQLiteStore(path: path)
            let text = String(repeating: "x", count: 1000)
            try await store.put(["a": "1", "b": text, "c": "3"])
            await store.close()
            try change(path, "UPDATE entries SET sum = sum + 1; UPDATE contents SET sum = sum + 1")
            let again = try SQLiteStore(path: path)
            await expect(.damagedValue) { _ = try await again.all() }
            try await again.put(["a": "2", "b": text])
            try await again.write(home) { $0.clear(bytes("c")) }
            #expect(try await again.all().map(\.value) == [bytes("2"), bytes(text)])
            await again.close()
        }
    }

    @Test func `a copy of a store keeps its checksums`() async throws {
        try await withFolder { folder in
            let store = try SQLiteStore(path: folder + "/store.db")
            try await store.put(["a": "1", "b": String(repeating: "x", count: 1000)])
            try await store.backUp(to: folder + "/copy.db")
            let copy = try SQLiteStore(path: folder + "/copy.db")
            #expect(copy.epoch != store.epoch)
            #expect(try await copy.all() == store.all())
            await copy.close()
            let epoch = store.epoch
            try await store.renewEpoch(from: epoch &+ 1)
            #expect(store.epoch == epoch)
            try await store.renewEpoch(from: epoch)
            #expect(store.epoch != epoch)
            let renewed = store.epoch
            #expect(try await store.all().count == 2)
            await store.close()
            let again = try SQLiteStore(path: folder + "/store.db")
            #expect(again.epoch == renewed)
            #expect(try await again.all().count == 2)
            await again.close()
        }
    }

    /// Writes three entries, changes the file and expects that only the one in the middle is damaged.
    private func expectDamage(
        length: Int, _ location: SourceLocation = #_sourceLocation, by change: (SQLiteStore) -> String
    ) async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let store = try SQLiteStore(path: path)
            for key in ["a", "b", "c"] { try await store.put([key: String(repeating: key, count: length)]) }
            let sql = change(store)
            await store.close()
            try self.change(path, sql)
            let again = try SQLiteStore(path: path)
            await expect(.damagedValue, location) { _ = try await again.value("b") }
            await expect(.damagedValue, location) { _ = try await again.all() }
            #expect(try await again.value("a")?.utf8.count == length, sourceLocation: location)
            #expect(try await again.value("c")?.utf8.count == length, sourceLocation: location)
            #expect(again.damage.count == 1, sourceLocation: location)
            #expect(again.damage.takeUnreported() == [DamagedPlace(partition: home, key: bytes("b"))])
            #expect(again.damage.takeUnreported().isEmpty)
            await again.close()
        }
    }

    private func change(_ path: String, _ sql: String) throws {
        var database: OpaquePointer?
        #expect(sqlite3_open(path, &database) == SQLITE_OK)
        var message: UnsafeMutablePointer<CChar>?
        #expect(
            sqlite3_exec(database, sql, nil, nil, &message) == SQLITE_OK, "\(message.map { String(cString: $0) } ?? "")"
        )
        sqlite3_close(database)
    }
}
