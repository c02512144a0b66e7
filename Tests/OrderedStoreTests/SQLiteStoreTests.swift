import CSQLite
import Foundation
import OrderedStore
import Synchronization
import Testing

@testable import OrderedStoreSQLite

@Suite("SQLite engine", .serialized, .timeLimit(.minutes(2)))
struct SQLiteStoreTests {
    @Test func `commits are durable: the log is written ahead and synced in full`() async throws {
        try await withStore { store, _ in
            let settings = try store.writer.connection.use { (handle) throws(StoreError) in
                (
                    try handle.number("PRAGMA synchronous"), try handle.row("PRAGMA journal_mode") { $0.bytes(at: 0) },
                    try handle.number("PRAGMA page_size"), try handle.number("PRAGMA wal_autocheckpoint")
                )
            }
            #expect(settings.0 == 2)
            #expect(settings.1 == bytes("wal"))
            #expect(settings.2 == Int64(Format.pageBytes))
            #expect(settings.3 == 0)
        }
    }

    @Test func `a store of an earlier build is written anew once, to be compacted while it is used`() async throws {
        let folder = NSTemporaryDirectory() + "/compaction-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/store"
        var store = try SQLiteStore(path: path)
        let epoch = store.epoch
        for key in 0..<200 as Range<UInt8> {
            try await store.write([home]) { $0.set([key], [UInt8](repeating: key, count: 9000)) }
        }
        try await store.write([home]) { $0.clear(KeyRange(lower: [10], upper: [200])) }
        await store.close()
        // As stores were made before.
        try Database(path).execute("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM")
        store = try SQLiteStore(path: path)
        for key in 10..<200 as Range<UInt8> {
            try await store.write([home]) { $0.set([key], [UInt8](repeating: key, count: 9000)) }
        }
        try await store.write([home]) { $0.clear(KeyRange(lower: [10], upper: [200])) }
        await store.close()
        #expect(try !SQLiteStore.canCompactLive(path: path))
        let outcome = try SQLiteStore.rewrite(path: path)
        #expect(outcome.isRewritten && outcome.bytesAfter * 3 < outcome.bytesBefore)
        #expect(try SQLiteStore.canCompactLive(path: path))
        store = try SQLiteStore(path: path)
        #expect(store.epoch == epoch)
        let rows = try await store.read(home) { try await $0.scan(KeyRange(lower: [0], upper: [0xFF]), limit: .max) }
        #expect(rows.map(\.key) == (0..<10).map { [$0] })
        await store.close()
    }

    @Test func `a caller continues elsewhere after its write: the writer's thread is for turns only`() async throws {
        try await withStore { store, _ in
            let writing = try await store.write([home]) { _ in Self.thread }
            #expect(Self.thread != writing)
        }
    }

    private static var thread: ObjectIdentifier { ObjectIdentifier(Thread.current) }

    @Test func `commits of other processes are noticed, one's own are not`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let mine = try SQLiteStore(path: path)
            let other = try SQLiteStore(path: path)
            try await mine.put(["a": "1"])
            let before = try await mine.foreignCommitMark()
            try await mine.put(["a": "2"])
            #expect(try await mine.value("a") == "2")
            #expect(try await mine.foreignCommitMark() == before)
            try await other.put(["b": "1"])
            let after = try await mine.foreignCommitMark()
            #expect(after != before)
            #expect(try await mine.foreignCommitMark() == after)
            await other.close()
            await mine.close()
            await #expect(throws: StoreError.self) { _ = try await mine.foreignCommitMark() }
        }
    }

    @Test func `memory for pages is given back, and what was written stays`() async throws {
        try await withFolder { folder in
            let store = try SQLiteStore(path: folder + "/store.db")
            let large = String(repeating: "l", count: 4_000)
            for batch in 0..<20 {
                try await store.write([home]) { transaction in
                    for key in 0..<100 { transaction.set(bytes("\(batch)-\(key)"), bytes(large)) }
                }
            }
            _ = try await store.all()
            func cachedBytes() throws -> Int { try store.writer.connection.use { $0.cachedBytes } }
            let before = try cachedBytes()
            #expect(await !store.releaseMemory(above: before))
            #expect(try cachedBytes() == before)
            #expect(await store.releaseMemory(above: before - 1))
            #expect(try cachedBytes() < before / 10)
            #expect(try await store.value("7-70") == large)
            try await store.put(["new": "1"])
            #expect(try await store.value("new") == "1")
            await store.close()
            #expect(await !store.releaseMemory(above: 0))
        }
    }

    @Test func `a store says whether there is anything in it`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let mine = try SQLiteStore(path: path)
            #expect(try await mine.isEmpty())
            try await mine.write(other) { $0.set(bytes("a"), bytes("1")) }
            #expect(try await !mine.isEmpty())
            let again = try SQLiteStore(path: path)
            #expect(try await !again.isEmpty())
            try await again.write(other) { $0.clear(bytes("a")) }
            #expect(try await mine.isEmpty())
            await again.close()
            await mine.close()
        }
    }

    @Test func `acknowledged writes are there when the file is opened again`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let first = try SQLiteStore(path: path)
            try await first.put(["a": "1", "large": String(repeating: "x", count: 3000)])
            try await first.put(["b": "2"], in: other)
            await first.close()
            #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
            let second = try SQLiteStore(path: path)
            #expect(second.epoch == first.epoch)
            #expect(try await second.all().keys == ["a", "large"])
            #expect(try await second.value("large")?.count == 3000)
            #expect(try await second.value("b", in: other) == "2")
            await second.close()
        }
    }

    @Test func `acknowledged writes are there when the file was never closed`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let first = try SQLiteStore(path: path)
            for round in 0..<20 { try await first.put(["key \(round)": String(repeating: "x", count: 50 * round)]) }
            // The files as a crash would leave them.
            for end in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + end, toPath: folder + "/crashed.db" + end)
            }
            let second = try SQLiteStore(path: folder + "/crashed.db")
            let recovered = try await second.all()
            #expect(recovered.count == 20)
            #expect(try await first.all() == recovered)
            await second.close()
            await first.close()
        }
    }

    @Test func `every store has an epoch of its own`() async throws {
        try await withFolder { folder in
            let first = try SQLiteStore(path: folder + "/1.db")
            let second = try SQLiteStore(path: folder + "/2.db")
            #expect(first.epoch != second.epoch)
            await first.close()
            await second.close()
        }
    }

    @Test func `writes that wait share one commit`() async throws {
        try await withStore(.standing) { store, _ in
            try await gathered(store, 64) { store, index in
                try await store.write(home) { transaction in
                    // Each sees those before it.
                    let count = try await transaction.scan(everything, limit: 100).count
                    transaction.set(bytes("key \(index)"), bytes(String(count)))
                }
            }
            let entries = try await store.all()
            #expect(Set(entries.map(\.value)).count == 64)
            #expect(store.commitCount == 1)
        }
    }

    @Test func `a batch is bounded`() async throws {
        try await withStore(.standing) { store, _ in
            try await gathered(store, 600) { store, index in try await store.put(["key \(index)": ""]) }
            #expect(try await store.all().count == 600)
            #expect(store.commitCount == 3)
        }
    }

    @Test func `a single caller after many is committed once no other arrives`() async throws {
        try await withStore(.slow) { store, _ in
            try await gathered(store, 8) { store, index in try await store.put(["key \(index)": ""]) }
            try await store.put(["alone": "1"])
            try await store.put(["alone": "2"])
            #expect(try await store.value("alone") == "2")
            #expect(try await store.all().count == 9)
        }
    }

    @Test func `closing commits the writes that waited for others`() async throws {
        try await withFolder { folder in
            let store = try SQLiteStore(path: folder + "/store.db", options: .slow)
            try await gathered(store, 8) { store, index in try await store.put(["key \(index)": ""]) }
            async let written: Void = store.put(["late": "1"])
            while store.writer.announcedCount == 0, try await store.value("late") == nil { await Task.yield() }
            await store.close()
            try await written
            let again = try SQLiteStore(path: folder + "/store.db")
            #expect(try await again.value("late") == "1")
            await again.close()
        }
    }

    @Test func `a body that throws leaves nothing while its batch is committed`() async throws {
        try await withStore { store, _ in
            try await gathered(store, 30) { store, index in
                do {
                    try await store.write(home) { transaction in
                        transaction.set(bytes("key \(index)"), [])
                        if index % 3 == 0 { throw Refusal() }
                    }
                    #expect(index % 3 != 0)
                } catch is Refusal {
                    #expect(index % 3 == 0)
                }
            }
            #expect(try await store.all().count == 20)
            #expect(store.commitCount == 1)
        }
    }

    @Test func `writes that do not fit on the disk are refused, and nothing acknowledged is lost`() async throws {
        var options = SQLiteStore.Options()
        options.fileBytesMax = 400_000
        try await withStore(options) { store, path in
            try await store.put(["before": "kept"])
            let acknowledged = Mutex<Set<String>>(["before"])
            try await gathered(store, 20) { store, index in
                let key = "key \(index)"
                do {
                    try await store.put([key: String(repeating: "x", count: 60_000)])
                    acknowledged.withLock { _ = $0.insert(key) }
                } catch let error as StoreError {
                    #expect(error.code == .diskFull)
                }
            }
            #expect(acknowledged.withLock { $0.count } < 10)
            try await store.put(["after": "kept"])
            let second = try SQLiteStore(path: path)
            #expect(try await Set(second.all().keys) == acknowledged.withLock { $0.union(["after"]) })
            await second.close()
        }
    }

    @Test func `nothing is left apart when entries change their size or go`() async throws {
        try await withStore { store, _ in
            let sizes = [10, 1000, 10, 3000, 200, 201, 0]
            for size in sizes {
                try await store.put(["a": String(repeating: "x", count: size), "b": String(repeating: "y", count: 500)])
                #expect(try await store.value("a")?.count == size)
                #expect(try contentCount(store) == (size > 200 ? 2 : 1))
            }
            try await store.write(home) { $0.clear(bytes("b")) }
            #expect(try contentCount(store) == 0)
            try await store.put(["a": String(repeating: "x", count: 300), "b": String(repeating: "y", count: 500)])
            try await store.put(["a": String(repeating: "x", count: 300)], in: other)
            try await store.write(home) { $0.clear(everything) }
            #expect(try contentCount(store) == 1)
            #expect(try await store.all(in: other).count == 1)
        }
    }

    @Test(arguments: [11, 12] as [UInt64])
    func `random operations leave no content that no entry names`(seed: UInt64) async throws {
        try await withStore { store, _ in
            var simulation = ModelSimulation(seed: seed)
            for _ in 0..<150 { try await simulation.step(store) }
            try await simulation.audit(store)
            let named = try store.writer.connection.use { (handle) throws(StoreError) in
                try handle.number(
                    "SELECT count(*) FROM entries JOIN contents ON id = entries.value AND typeof(entries.value) = 'integer'"
                )
            }
            #expect(Int64(try contentCount(store)) == named)
        }
    }

    @Test func `a backup is a store with an epoch of its own`() async throws {
        try await withStore { store, path in
            try await store.put(["a": "1", "large": String(repeating: "x", count: 3000)])
            try await store.put(["b": "2"], in: other)
            let target = path + "'s copy"
            try await store.backUp(to: target)
            try await store.put(["a": "later"])
            await expect(.unavailable) { try await store.backUp(to: target) }
            let copy = try SQLiteStore(path: target)
            #expect(copy.epoch != store.epoch)
            #expect(try await copy.value("a") == "1")
            #expect(try await copy.value("large")?.count == 3000)
            #expect(try await copy.value("b", in: other) == "2")
            try await copy.put(["c": "3"])
            await copy.close()
            try SQLiteStore.renewEpoch(path: target)
            let renewed = try SQLiteStore(path: target)
            #expect(renewed.epoch != copy.epoch)
            #expect(try await renewed.value("c") == "3")
            await renewed.close()
        }
    }

    @Test func `two stores on one file keep their partitions and counters apart and right`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let stores = [try SQLiteStore(path: path), try SQLiteStore(path: path)]
            #expect(stores[0].epoch == stores[1].epoch)
            let partitions = (0..<6).map { Partition("partition \($0)") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, store) in stores.enumerated() {
                    for writer in 0..<4 {
                        group.addTask {
                            for round in 0..<15 {
                                let partition = partitions[(index + writer + round) % partitions.count]
                                try await increment(bytes("n"), in: partition, of: store)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            for store in stores {
                var sum = 0
                for partition in partitions { sum += Int(try await store.value("n", in: partition) ?? "") ?? 0 }
                #expect(sum == 2 * 4 * 15)
                #expect(try await store.all(in: Partition("never written")).isEmpty)
            }
            for store in stores { await store.close() }
        }
    }

    @Test func `a partition made by a write that failed gets its number from the next`() async throws {
        var options = SQLiteStore.Options()
        options.fileBytesMax = 400_000
        try await withStore(options) { store, path in
            await expect(.diskFull) {
                try await store.put(["a": String(repeating: "x", count: 600_000)], in: home)
            }
            let second = try SQLiteStore(path: path)
            try await second.put(["a": "other"], in: other)
            try await store.put(["a": "home"], in: home)
            #expect(try await store.value("a", in: other) == "other")
            #expect(try await second.value("a", in: home) == "home")
            await second.close()
        }
    }

    @Test func `a process that does not let go is reported as busy`() async throws {
        var options = SQLiteStore.Options()
        options.busyTimeout = .milliseconds(20)
        try await withStore(options) { store, path in
            let stranger = try Database(path)
            try stranger.execute("BEGIN IMMEDIATE")
            await expect(.busy) { try await store.put(["a": "1"]) }
            #expect(try await store.all().isEmpty)
            try stranger.execute("COMMIT")
            try await store.put(["a": "1"])
            #expect(try await store.all().keys == ["a"])
        }
    }

    @Test func `a file that is not ours is refused and left alone`() async throws {
        try await withFolder { folder in
            let text = folder + "/text.db"
            try Data(repeating: 0x41, count: 5000).write(to: URL(filePath: text))
            await expect(.notAStore) { _ = try SQLiteStore(path: text) }
            #expect(try Data(contentsOf: URL(filePath: text)) == Data(repeating: 0x41, count: 5000))
            let foreign = folder + "/foreign.db"
            try Database(foreign).execute("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
            let before = try Data(contentsOf: URL(filePath: foreign))
            await expect(.notAStore) { _ = try SQLiteStore(path: foreign) }
            #expect(try Data(contentsOf: URL(filePath: foreign)) == before)
            await expect(.notAStore) { _ = try SQLiteStore(path: folder) }
        }
    }

    @Test func `a newer format is refused`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            await (try SQLiteStore(path: path)).close()
            try Database(path).execute("PRAGMA user_version = 999")
            await expect(.newerFormat) { _ = try SQLiteStore(path: path) }
        }
    }

    @Test func `an older format is refused and left alone`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            await (try SQLiteStore(path: path)).close()
            for version in [1, 2] {
                try Database(path).execute("PRAGMA user_version = \(version)")
                let before = try Data(contentsOf: URL(filePath: path))
                await expect(.olderFormat) { _ = try SQLiteStore(path: path) }
                await expect(.olderFormat) { _ = try SQLiteStore.inspect(path: path) }
                #expect(try Data(contentsOf: URL(filePath: path)) == before)
            }
        }
    }

    @Test func `a missing folder, and a missing file where it must exist, are unavailable`() async throws {
        try await withFolder { folder in
            await expect(.unavailable) { _ = try SQLiteStore(path: folder + "/none/store.db") }
            var options = SQLiteStore.Options()
            options.createsFile = false
            await expect(.unavailable) { _ = try SQLiteStore(path: folder + "/store.db", options: options) }
            let left = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(left.isEmpty)
        }
    }

    @Test(.enabled(if: geteuid() != 0, "root may write to anything"))
    func `a file that may not be written to is read-only`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            await (try SQLiteStore(path: path)).close()
            try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: path)
            await expect(.readOnly) { _ = try SQLiteStore(path: path) }
        }
    }

    @Test func `damage is reported, not answered`() async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let first = try SQLiteStore(path: path)
            for round in 0..<20 {
                try await first.put(["key \(round)": String(repeating: "x", count: 10_000)])
            }
            await first.close()
            let file = try FileHandle(forUpdating: URL(filePath: path))
            // The first page says whose file it is; the trees begin behind it.
            try file.seek(toOffset: UInt64(Format.pageBytes))
            try file.write(contentsOf: Data(repeating: 0x5A, count: 20 * Format.pageBytes))
            try file.close()
            await expect(.corrupt) {
                let store = try SQLiteStore(path: path)
                _ = try await store.all()
            }
        }
    }

    @Test func `after closing everything is refused`() async throws {
        try await withStore { store, _ in
            try await store.put(["a": ""])
            var hints = store.commits().makeAsyncIterator()
            await store.close()
            await store.close()
            await expect(.closed) { try await store.put(["b": ""]) }
            await expect(.closed) { _ = try await store.value("a") }
            #expect(await hints.next() == nil)
        }
    }

    @Test func `closing waits for transactions that were begun`() async throws {
        try await withStore { store, path in
            let latch = Latch()
            let inside = Latch()
            let reader = Task {
                try await store.read(home) { transaction in
                    await inside.open()
                    await latch.wait()
                    return try await transaction.get(bytes("a"))
                }
            }
            await inside.wait()
            let closing = Task { await store.close() }
            await latch.open()
            let value = try await reader.value
            #expect(value == nil)
            await closing.value
        }
    }

    @Test func `a transaction kept beyond its body is refused`() async throws {
        try await withStore { store, _ in
            let kept = try await store.read(home) { $0 }
            await expect(.closed) { _ = try await kept.get([1]) }
            let written = try await store.write(home) { $0 }
            await expect(.closed) { _ = try await written.scan(everything, limit: 1) }
        }
    }

    @Test func `more readers than connections wait for their turn, and may give up`() async throws {
        var options = SQLiteStore.Options()
        options.readersMax = 2
        try await withStore(options) { store, _ in
            try await store.put(["a": "1"])
            let latch = Latch()
            let inside = [Latch(), Latch()]
            let holders = inside.map { inside in
                Task {
                    try await store.read(home) { transaction in
                        await inside.open()
                        await latch.wait()
                        return try await transaction.get(bytes("a"))
                    }
                }
            }
            for inside in inside { await inside.wait() }
            let impatient = Task { try await store.value("a") }
            let patient = (0..<10).map { _ in Task { try await store.value("a") } }
            impatient.cancel()
            await #expect(throws: CancellationError.self) { _ = try await impatient.value }
            await latch.open()
            for task in patient { #expect(try await task.value == "1") }
            for holder in holders { #expect(try await holder.value == bytes("1")) }
        }
    }

    @Test func `the log does not grow without end`() async throws {
        try await withStore { store, path in
            let value = Bytes(repeating: 7, count: 100_000)
            for round in 0..<600 { try await store.write(home) { $0.set([UInt8(round % 50)], value) } }
            let size = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
            #expect((size ?? 0) < 40_000_000)
        }
    }

    // MARK: Circumstances

    private func withStore(
        _ options: SQLiteStore.Options = .init(), _ body: (SQLiteStore, String) async throws -> Void
    ) async throws {
        try await withFolder { folder in
            let path = folder + "/store.db"
            let store = try SQLiteStore(path: path, options: options)
            do {
                try await body(store, path)
                await store.close()
            } catch {
                await store.close()
                throw error
            }
        }
    }

    /// Calls `write` `count` times at once, and lets none of them have its turn before all have come.
    private func gathered(
        _ store: SQLiteStore, _ count: Int, _ write: @escaping @Sendable (SQLiteStore, Int) async throws -> Void
    ) async throws {
        let latch = Latch()
        let inside = Latch()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // It shares the fate of its batch, which is not its own affair.
                try? await store.write(Partition("gate")) { _ in
                    await inside.open()
                    await latch.wait()
                }
            }
            await inside.wait()
            for index in 0..<count { group.addTask { try await write(store, index) } }
            while store.writer.announcedCount < count + 1 { await Task.yield() }
            await latch.open()
            try await group.waitForAll()
        }
    }

    private func contentCount(_ store: SQLiteStore) throws -> Int {
        try store.writer.connection.use { (handle) throws(StoreError) in
            Int(try handle.number("SELECT count(*) FROM contents"))
        }
    }
}

/// A connection to a file, independent of the store.
final class Database {
    private var pointer: OpaquePointer?

    init(_ path: String) throws {
        guard sqlite3_open(path, &pointer) == SQLITE_OK else { throw Refusal() }
    }

    deinit { sqlite3_close(pointer) }

    func execute(_ sql: String) throws {
        guard sqlite3_exec(pointer, sql, nil, nil, nil) == SQLITE_OK else { throw Refusal() }
    }
}

extension SQLiteStore.Options {
    /// By its clock no commit takes any time, so only the number of writes decides.
    fileprivate static var standing: Self {
        var options = Self()
        options.now = { 1 }
        return options
    }

    /// By its clock a commit takes 20 ms, so a single writer waits for others.
    fileprivate static var slow: Self {
        var options = Self()
        let time = Mutex<UInt64>(1)
        options.now = {
            time.withLock { time in
                time += 20_000_000
                return time
            }
        }
        return options
    }
}
