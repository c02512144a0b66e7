import Foundation
import OrderedStore
import SeededChance
import Testing

@testable import OrderedStoreSQLite

@Suite("Damaged files", .serialized, .timeLimit(.minutes(3)))
struct DamagedFileTests {
    @Test func `a flipped bit never changes a value that is read`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let store = try SQLiteStore(path: path)
            var expected: [String: String] = [:]
            for index in 0..<60 {
                let text = String(repeating: "value \(index) ", count: index % 3 == 0 ? 60 : 3)
                expected["key \(index)"] = text
            }
            try await store.put(expected)
            await store.close()
            let whole = try Data(contentsOf: URL(filePath: path))
            var chance = SplitMix64(seed: 14)
            var failures = 0
            for _ in 0..<300 {
                // Beyond the first pages, which hold the schema.
                let bit = Int.random(in: (3 * Format.pageBytes * 8)..<(whole.count * 8), using: &chance)
                var damaged = whole
                damaged[bit / 8] ^= 1 << UInt8(bit % 8)
                try damaged.write(to: URL(filePath: path))
                failures += try await readFailures(path, expected)
                try? FileManager.default.removeItem(atPath: path + "-wal")
                try? FileManager.default.removeItem(atPath: path + "-shm")
            }
            #expect(failures > 0)
        }
    }

    /// Reads every key; what is read must be the whole value. A damaged key hides its row from reads by key.
    ///
    /// - Returns: The number of reads that failed.
    private func readFailures(_ path: String, _ expected: [String: String]) async throws -> Int {
        let store: SQLiteStore
        do {
            store = try SQLiteStore(path: path)
        } catch {
            return 1
        }
        var failures = 0
        for (key, text) in expected {
            do {
                if let value = try await store.value(key) { #expect(value == text) } else { failures += 1 }
            } catch {
                failures += 1
            }
        }
        await store.close()
        return failures
    }

    @Test func `a page that SQLite cannot read is noted as damage`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let store = try SQLiteStore(path: path)
            let keys = (0..<200).map { "key \($0)" }
            try await store.put(Dictionary(uniqueKeysWithValues: keys.map { ($0, String(repeating: "x", count: 200)) }))
            await store.close()
            var file = try Data(contentsOf: URL(filePath: path))
            // The first pages hold the schema.
            for page in stride(from: 5, to: file.count / Format.pageBytes, by: 2) {
                file.replaceSubrange(
                    page * Format.pageBytes..<(page + 1) * Format.pageBytes, with: Data(count: Format.pageBytes))
            }
            try file.write(to: URL(filePath: path))
            let damaged = try SQLiteStore(path: path)
            #expect(damaged.damage.count == 0)
            var failures = 0
            for key in keys {
                do {
                    _ = try await damaged.value(key)
                } catch let error as StoreError where error.code == .corrupt {
                    failures += 1
                }
            }
            #expect(failures > 0)
            #expect(damaged.damage.count == 1)
            #expect(damaged.damage.takeUnreported() == [.structure])
            await damaged.close()
        }
    }

    @Test func `a log that is whole, torn or missing has lost no commit`() async throws {
        try await withLog { path, log in
            #expect(LogInspection(storePath: path).commits == 12)
            #expect(!LogInspection(storePath: path).hasLostCommits)
            try log.dropLast(100).write(to: URL(filePath: path + "-wal"))
            #expect(!LogInspection(storePath: path).hasLostCommits)
            try Data().write(to: URL(filePath: path + "-wal"))
            #expect(!LogInspection(storePath: path).hasLostCommits)
            try FileManager.default.removeItem(atPath: path + "-wal")
            #expect(LogInspection(storePath: path).commits == 0)
        }
    }

    @Test func `a flipped bit in the log before its last commits is noticed`() async throws {
        try await withLog { path, log in
            var chance = SplitMix64(seed: 15)
            for _ in 0..<100 {
                // The last two commits have few frames; what is damaged there may be the end of an unfinished write.
                let bit = Int.random(in: 0..<(log.count / 2 * 8), using: &chance)
                var damaged = log
                damaged[bit / 8] ^= 1 << UInt8(bit % 8)
                try damaged.write(to: URL(filePath: path + "-wal"))
                let inspection = LogInspection(storePath: path)
                // Fields of the header that no reader uses are covered by its checksum too.
                #expect(inspection.hasLostCommits || inspection.commits == 12, "bit \(bit)")
                #expect(inspection.commits < 12, "bit \(bit)")
            }
        }
    }

    @Test func `a store says what was served, without and with its log`() async throws {
        try await withFolder { folder in
            let path = folder + "/a store?.db"
            let store = try SQLiteStore(path: path)
            #expect(try SQLiteStore.isUnused(path: path))
            #expect(try await store.servedMark() == 0)
            #expect(try await store.advanceServedMark() == 1)
            #expect(try await store.advanceServedMark() == 2)
            let present = try SQLiteStore.inspect(path: path)
            #expect(present == StoreInspection(storeID: store.storeID, epoch: store.epoch, servedMark: 2))
            #expect(try !SQLiteStore.isUnused(path: path))
            // Nothing was moved into the file yet.
            #expect((try? SQLiteStore.inspect(path: path, ignoresLog: true))?.servedMark != 2)
            await store.close()
            #expect(try SQLiteStore.inspect(path: path, ignoresLog: true) == present)
        }
    }

    /// Runs `body` with the files of a store as a crash leaves them after twelve commits.
    private func withLog(_ body: (_ path: String, _ log: Data) throws -> Void) async throws {
        try await withFolder { folder in
            let store = try SQLiteStore(path: folder + "/store.db")
            // One commit creates the tables.
            for index in 0..<11 { try await store.put(["key \(index)": String(repeating: "x", count: 500)]) }
            let path = folder + "/crashed.db"
            for end in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: folder + "/store.db" + end, toPath: path + end)
            }
            await store.close()
            try body(path, Data(contentsOf: URL(filePath: path + "-wal")))
        }
    }
}
