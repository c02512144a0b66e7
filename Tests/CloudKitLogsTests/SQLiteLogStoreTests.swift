import CSQLite
import CloudKitLogs
import CloudKitLogsSQLite
import Foundation
import Testing

/// The log in a file answers as the one in memory does, whatever is asked.
@Suite(.timeLimit(.minutes(5)))
struct SQLiteLogStoreTests {
    /// A folder that is removed with the test.
    final class Folder: Sendable {
        let path = FileManager.default.temporaryDirectory.path + "/welkin-logs-" + UUID().uuidString
        var file: String { path + "/logs.sqlite" }

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    @Test(arguments: 1...2)
    func `any filter, page and direction gives what the log in memory gives`(seed: UInt64) async throws {
        let folder = try Folder()
        // A search of a busy machine would end before its page is full.
        let store = try SQLiteLogStore(path: folder.file, searchTime: .seconds(600))
        let memory = MemoryLogStore()
        var random = RandomEntries(seed: seed)
        var time: Int64 = 0
        // Two blocks and a rest, in batches of every size.
        while time < 9_000 {
            let batch = (0..<Int.random(in: 1...900, using: &random.chance)).map { random.entry(at: time + Int64($0)) }
            time += Int64(batch.count)
            try await store.append(batch, telemetry: [])
            memory.append(batch, telemetry: [])
            if random.chance.next() % 4 == 0 { await store.releaseMemory() }
        }
        let first = try #require(memory.entries(LogFilter(), after: -1, limit: 1).items.first).number
        for round in 0..<60 {
            var filter = random.filter(lasting: time)
            let samples = memory.all
            if round % 10 == 0 { filter.idPrefix = String(random.pick(samples).id.description.prefix(round / 4)) }
            if round % 10 == 1 { filter.operationID = random.pick(samples).operationID }
            let limit = random.pick([1, 7, 100])
            var expected = memory.entries(filter, before: nil, limit: limit)
            var page = try await store.entries(filter, before: nil, limit: limit)
            for _ in 0..<2 {
                #expect(page.items.map(\.entry) == expected.items.map(\.entry), "seed \(seed), filter \(filter)")
                #expect((page.next == nil) == (expected.next == nil))
                guard let next = page.next, let other = expected.next else { break }
                page = try await store.entries(filter, before: next, limit: limit)
                expected = memory.entries(filter, before: other, limit: limit)
            }
            let start = Int64.random(in: 0..<time, using: &random.chance)
            let newer = try await store.entries(filter, after: start, limit: limit)
            let expectedNewer = memory.entries(filter, after: start + first, limit: limit)
            #expect(newer.items.map(\.entry) == expectedNewer.items.map(\.entry), "seed \(seed), filter \(filter)")
        }
        for entry in [memory.all[0], random.pick(memory.all), memory.all[memory.all.count - 1]] {
            #expect(try await store.entry(entry.id) == entry)
        }
        #expect(try await store.entry(LogID(high: 1, low: 2)) == nil)
        #expect(try await store.size().rows == memory.all.count)
    }

    @Test func `a search that has taken its time says how far it came, and goes on from there`() async throws {
        let folder = try Folder()
        let store = try SQLiteLogStore(path: folder.file, searchTime: .zero)
        var random = RandomEntries(seed: 3)
        let entries = (0..<Int64(20_000)).map { random.entry(at: $0) }
        for first in stride(from: 0, to: entries.count, by: 1000) {
            try await store.append(Array(entries[first..<first + 1000]), telemetry: [])
        }
        var filter = LogFilter()
        filter.user = entries[0].user
        let expected = entries.filter(filter.matches)
        var (found, pages, before, last): ([LogEntry], Int, Int64?, Int64?) = ([], 0, nil, nil)
        repeat {
            let page = try await store.entries(filter, before: before, limit: 1000)
            found += page.items.map(\.entry)
            pages += 1
            // Every page but the last says to which time entries were looked at.
            #expect((page.searchedTo == nil) == (page.next == nil))
            if let time = page.searchedTo, let last { #expect(time < last) }
            last = page.searchedTo ?? last
            before = page.next
        } while before != nil
        #expect(found == expected.reversed())
        #expect(pages > 3)

        var (newer, after): ([LogEntry], Int64) = ([], -1)
        while true {
            let page = try await store.entries(filter, after: after, limit: 1000)
            newer += page.items.map(\.entry)
            after = try #require(page.next)
            if page.searchedTo == nil { break }
        }
        #expect(newer == expected)
        #expect(try await store.entry(entries[5].id) == entries[5])
    }

    @Test func `what was written is there after the file is opened again, and a reader beside it sees it`() async throws
    {
        let folder = try Folder()
        var random = RandomEntries(seed: 7)
        let entries = (0..<5000).map { random.entry(at: Int64($0)) }
        do {
            let store = try SQLiteLogStore(path: folder.file)
            try await store.append(Array(entries.prefix(4500)), telemetry: [])
        }
        let store = try SQLiteLogStore(path: folder.file)
        let reader = try SQLiteLogStore(reading: folder.file)
        #expect(try await reader.size().rows == 4500)
        try await store.append(Array(entries.suffix(500)), telemetry: [])
        let page = try await reader.entries(LogFilter(), after: -1, limit: 1000)
        #expect(page.items.map(\.entry) == Array(entries.prefix(1000)))
        let newest = try await reader.entries(LogFilter(), before: nil, limit: 1000)
        #expect(newest.items.map(\.entry) == entries.suffix(1000).reversed())
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func `two processes may append, and neither loses the other's entries`() async throws {
        let folder = try Folder()
        var random = RandomEntries(seed: 9)
        let first = try SQLiteLogStore(path: folder.file)
        let second = try SQLiteLogStore(path: folder.file)
        var expected: [LogEntry] = []
        for round in 0..<12 {
            let batch = (0..<900).map { random.entry(at: Int64(round * 900 + $0)) }
            expected += batch
            try await (round % 3 == 0 ? second : first).append(batch, telemetry: [])
        }
        var found: [LogEntry] = []
        var last: Int64 = -1
        while found.count < expected.count {
            let page = try await first.entries(LogFilter(), after: last, limit: 1000)
            guard let next = page.next, !page.items.isEmpty else { break }
            found += page.items.map(\.entry)
            last = next
        }
        #expect(found == expected)
    }

    @Test func `entries beyond the bounds go in steps, and their texts and details with them`() async throws {
        let folder = try Folder()
        let store = try SQLiteLogStore(path: folder.file)
        var random = RandomEntries(seed: 11)
        for round in 0..<5 {
            try await store.append((0..<4096).map { random.entry(at: Int64(round * 4096 + $0)) }, telemetry: [])
        }
        let now = RandomEntries.start + 20_480
        let bounds = LogRetention(days: 30, rowsMax: 3 * 4096, bytesMax: .max)
        #expect(try await store.prune(bounds, now: now))
        #expect(try await store.prune(bounds, now: now))
        #expect(try await !store.prune(bounds, now: now))
        #expect(try await store.size().rows == 3 * 4096)
        let oldest = try await store.entries(LogFilter(), after: -1, limit: 1)
        #expect(oldest.items.first?.number == 8192)
        #expect(try folder.count("details") < 3 * 4096)
        #expect(try folder.count("items WHERE number < 8192") == 0)
        // A month later nothing is left, also of the newest.
        try await store.append([random.entry(at: 20_481)], telemetry: [])
        while try await store.prune(LogRetention(), now: now + 31 * 86_400_000) {}
        #expect(try await store.size().rows == 0)
        #expect(try folder.count("columns") == 0)
        try await store.append([random.entry(at: 20_482)], telemetry: [])
        #expect(try await store.entries(LogFilter(), before: nil, limit: 5).items.map(\.number) == [20_481])
    }

    @Test func `the bound of bytes removes blocks`() async throws {
        let folder = try Folder()
        let store = try SQLiteLogStore(path: folder.file)
        var random = RandomEntries(seed: 12)
        for round in 0..<3 {
            try await store.append((0..<4096).map { random.entry(at: Int64(round * 4096 + $0)) }, telemetry: [])
        }
        let bytes = try await store.size().bytes
        let bounds = LogRetention(days: 30, rowsMax: .max, bytesMax: bytes - 1)
        #expect(try await store.prune(bounds, now: RandomEntries.start))
        #expect(try await !store.prune(bounds, now: RandomEntries.start))
        #expect(try await store.size().rows == 2 * 4096)
    }

    @Test(arguments: ["no database at all, only text", "", "damaged"])
    func `a file that is no log is set aside and the log goes on`(content: String) async throws {
        let folder = try Folder()
        if content == "damaged" {
            do {
                let store = try SQLiteLogStore(path: folder.file)
                var random = RandomEntries(seed: 13)
                try await store.append((0..<5000).map { random.entry(at: Int64($0)) }, telemetry: [])
            }
            // The file is closed once the queue has let go of what it ran last; its log, which would mend the damage, is gone then.
            while FileManager.default.fileExists(atPath: folder.file + "-wal") { await Task.yield() }
            var bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file))
            for index in 0..<4096 { bytes[index] = UInt8(truncatingIfNeeded: index &* 31) }
            try bytes.write(to: URL(fileURLWithPath: folder.file))
        } else {
            try Data(content.utf8).write(to: URL(fileURLWithPath: folder.file))
        }
        let store = try SQLiteLogStore(path: folder.file)
        #expect((store.setAside != nil) == !content.isEmpty)
        #expect(FileManager.default.fileExists(atPath: folder.file + ".set-aside") == !content.isEmpty)
        var random = RandomEntries(seed: 14)
        let entry = random.entry(at: 1)
        try await store.append([entry], telemetry: [])
        #expect(try await store.entries(LogFilter(), before: nil, limit: 5).items.map(\.entry) == [entry])
    }

    @Test func `telemetry adds up by minute, hour and day`() async throws {
        let folder = try Folder()
        // A search of a busy machine would end before its page is full.
        let store = try SQLiteLogStore(path: folder.file, searchTime: .seconds(600))
        let memory = MemoryLogStore()
        var random = RandomEntries(seed: 15)
        for round in 0..<20 {
            var collector = TelemetryCollector()
            for index in 0..<100 { collector.add(random.entry(at: Int64(round * 100 + index) * 6000)) }
            let samples = collector.take()
            try await store.append([], telemetry: samples)
            memory.append([], telemetry: samples)
        }
        for resolution in TelemetryResolution.allCases {
            var query = TelemetryQuery(from: 0, to: .max, resolution: resolution)
            #expect(try await Set(store.telemetry(query)) == Set(memory.telemetry(query)))
            query.container = "iCloud.App1"
            query.environment = "production"
            let points = try await store.telemetry(query)
            #expect(Set(points) == Set(memory.telemetry(query)))
            #expect(!points.isEmpty && points.allSatisfy { $0.key.container == "iCloud.App1" })
        }
        try await store.add([Measurement(time: RandomEntries.start, name: .storeBytes, value: 5)])
        try await store.add([Measurement(time: RandomEntries.start + 1, name: .storeBytes, value: 7)])
        let values = try await store.measurements(.storeBytes, from: 0, to: .max, resolution: .hour)
        #expect(values.map(\.value) == [7])
    }

    @Test func `measurements of containers are kept apart, and go with time`() async throws {
        let folder = try Folder()
        let store = try SQLiteLogStore(path: folder.file)
        let day: Int64 = 86_400_000
        let places = ["development", "production"].map { MeasuredPlace(container: "iCloud.a", environment: $0) }
        for (index, place) in places.enumerated() {
            for hour in 0..<3 {
                try await store.add([
                    Measurement(
                        time: RandomEntries.start + Int64(hour) * 3_600_000, name: .privateBytes, of: place,
                        value: Int64(10 * hour + index))
                ])
            }
        }
        let found = try await store.measurements(.privateBytes, of: places[1], from: 0, to: .max, resolution: .hour)
        #expect(found.map(\.value) == [1, 11, 21] && found.allSatisfy { $0.place == places[1] })
        #expect(try await store.measurements(.publicBytes, of: places[1], from: 0, to: .max, resolution: .hour) == [])
        while try await store.prune(LogRetention(), now: RandomEntries.start + 61 * day) {}
        #expect(try await store.measurements(.privateBytes, of: places[1], from: 0, to: .max, resolution: .hour) == [])
        #expect(
            try await !store.measurements(.privateBytes, of: places[1], from: 0, to: .max, resolution: .day).isEmpty)
    }

    @Test func `another process appends beside the cloud's, and sets no file aside`() async throws {
        let folder = try Folder()
        var random = RandomEntries(seed: 21)
        // Also the first one, which makes the file, while others do.
        try await withThrowingTaskGroup { group in
            for index in 0..<6 {
                let entry = random.entry(at: Int64(index))
                group.addTask {
                    try await SQLiteLogStore(appendingTo: folder.file).append([entry], telemetry: [])
                }
            }
            try await group.waitForAll()
        }
        let cloud = try SQLiteLogStore(path: folder.file)
        try await cloud.append([random.entry(at: 10)], telemetry: [])
        try await SQLiteLogStore(appendingTo: folder.file).append([random.entry(at: 11)], telemetry: [])
        try await cloud.append([random.entry(at: 12)], telemetry: [])
        #expect(try await cloud.entries(LogFilter(), before: nil, limit: 100).items.map(\.number) == (0..<9).reversed())
        let other = try Folder()
        try Data("no log".utf8).write(to: URL(fileURLWithPath: other.file))
        #expect { try SQLiteLogStore(appendingTo: other.file) } throws: {
            ($0 as? LogStoreError)?.code == .damaged
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: other.file)) == Data("no log".utf8))
    }

    @Test func `a reader of a log that is not there says so`() throws {
        let folder = try Folder()
        #expect { try SQLiteLogStore(reading: folder.file) } throws: { ($0 as? LogStoreError)?.code == .missing }
    }
}

extension SQLiteLogStoreTests.Folder {
    /// Returns the number of rows of a table.
    func count(_ table: String) throws -> Int {
        var database: OpaquePointer?
        defer { sqlite3_close_v2(database) }
        try #require(sqlite3_open_v2(file, &database, SQLITE_OPEN_READONLY, nil) == SQLITE_OK)
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        try #require(sqlite3_prepare_v2(database, "SELECT count(*) FROM \(table)", -1, &statement, nil) == SQLITE_OK)
        try #require(sqlite3_step(statement) == SQLITE_ROW)
        return Int(sqlite3_column_int64(statement, 0))
    }
}
