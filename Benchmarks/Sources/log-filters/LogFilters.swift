import CloudKitLogs
import CloudKitLogsSQLite
import Foundation
import SeededChance

/// Fills a log with entries as a busy cloud makes them and times filters on it, also those that nothing meets.
///
/// Arguments: the number of entries (10,000,000 unless given), a folder for the file, and `reuse` for a file that is there already.
@main
struct LogFilters {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let count = arguments.count > 1 ? Int(arguments[1]) ?? 10_000_000 : 10_000_000
        let folder = arguments.count > 2 ? arguments[2] : FileManager.default.temporaryDirectory.path
        let path = folder + "/log-filters.sqlite"
        let reuses = arguments.count > 3 && arguments[3] == "reuse"
        func remove() {
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        }
        if !reuses { remove() }
        defer { if !reuses { remove() } }
        let store = try SQLiteLogStore(path: path)
        var workload = Workload()
        if !reuses { try await fill(store, count, &workload) }
        let size = try await store.size()
        print("\(size.rows) entries, \(size.bytes / 1_000_000) MB, \(size.bytes / max(size.rows, 1)) bytes an entry")
        try await time(store, workload, count)
    }

    private static func fill(_ store: SQLiteLogStore, _ count: Int, _ workload: inout Workload) async throws {
        let clock = ContinuousClock()
        var writing = Duration.zero
        let cpuBefore = cpuSeconds()
        var making = 0.0
        for first in stride(from: 0, to: count, by: 1000) {
            let before = cpuSeconds()
            let batch = (first..<min(first + 1000, count)).map { workload.entry($0) }
            making += cpuSeconds() - before
            writing += try await clock.measure { try await store.append(batch, telemetry: []) }
        }
        let cpu = cpuSeconds() - cpuBefore - making
        print("written in \(writing), processor time \(cpu * 1_000_000 / Double(count)) µs an entry")
    }

    private static func time(_ store: SQLiteLogStore, _ workload: Workload, _ count: Int) async throws {
        let clock = ContinuousClock()
        var worst = Duration.zero
        for (name, filter) in workload.filters(count) {
            var times: [Duration] = []
            var found = 0
            for _ in 0..<7 {
                times.append(
                    try await clock.measure {
                        found = try await store.entries(filter, before: nil, limit: 100).items.count
                    })
            }
            times.sort()
            worst = max(worst, times[6])
            let shown = [times[3], times[6]].map { "\(($0 / .milliseconds(1) * 10).rounded() / 10)" }
            print(
                "\(name.padding(toLength: 52, withPad: " ", startingAt: 0)) \(found) found, median \(shown[0]) ms, worst \(shown[1]) ms"
            )
        }
        print("worst of all: \(worst / .milliseconds(1)) ms")
    }

    private static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
    }
}

/// Entries of three containers with 100,000 users over 30 days, and filters on them.
struct Workload {
    private var chance = SplitMix64(seed: 1)
    private static let start: Int64 = 1_790_000_000_000
    private static let span: Int64 = 30 * 86_400_000
    private let operations = [
        "records/modify", "records/modify", "records/query", "records/lookup", "changes/zone", "changes/database",
        "asset/upload", "zones/modify", "subscriptions/modify",
    ]

    mutating func entry(_ index: Int) -> LogEntry {
        let time = Self.start + Int64(Double(Self.span) * Double(index) / 10_000_000)
        var entry = LogEntry(
            id: LogID(milliseconds: time, random: (chance.next(), chance.next())), kind: .request,
            operation: operations[pick(operations.count)])
        let user = pick(100_000)
        entry.container = "iCloud.com.example.app\(user % 3)"
        entry.environment = user % 10 == 0 ? "development" : "production"
        entry.database = ["private", "private", "shared", "public"][pick(4)]
        entry.user = "_\(String(user &* 0x9E37_79B9 &+ 0x1234_5678_9ABC, radix: 16))c0ffee00"
        entry.device = "D\(String(user &* 31 &+ pick(2), radix: 16))"
        entry.zone = pick(3) == 0 ? "_defaultZone" : "Zone\(pick(1000))"
        entry.recordType = "Type\(pick(30))"
        entry.client = "sdk"
        entry.operationID = LogID(high: chance.next(), low: chance.next())
        if pick(2) == 0 { entry.groupName = "Group \(pick(20))" }
        entry.status = 200
        entry.microseconds = 300 + pick(20_000)
        entry.bytesIn = pick(8000)
        entry.bytesOut = pick(20_000)
        entry.itemsIn = 1 + pick(20)
        entry.itemsOut = entry.itemsIn
        if pick(50) == 0 {
            entry.code = ["conflict", "throttled", "schemaMismatch", "itemNotFound"][pick(4)]
            entry.status = 400
            entry.details = LogDetails(failures: [
                LogFailure(
                    item: "record-\(index)", recordType: entry.recordType, code: entry.code ?? "",
                    reason: "client oplock error updating record", remedy: "Merge and save again.")
            ])
        }
        if index == 12_345 { entry.zone = "OnceZone" }
        return entry
    }

    func filters(_ count: Int) -> [(String, LogFilter)] {
        func filter(_ change: (inout LogFilter) -> Void) -> LogFilter {
            var filter = LogFilter()
            change(&filter)
            return filter
        }
        let user = "_\(String(77_777 &* 0x9E37_79B9 &+ 0x1234_5678_9ABC, radix: 16))c0ffee00"
        let late = Self.start + Int64(Double(Self.span) * Double(count) / 10_000_000)
        return [
            ("no condition", filter { _ in }),
            ("one user", filter { $0.user = user }),
            (
                "one user, one code",
                filter {
                    $0.user = user
                    $0.code = "throttled"
                }
            ),
            (
                "one user of another container: nothing",
                filter {
                    $0.user = user
                    $0.container = "iCloud.com.example.app1"
                }
            ),
            ("one device", filter { $0.device = "D\(String(77_777 &* 31, radix: 16))" }),
            ("a zone with one entry, the oldest of all", filter { $0.zone = "OnceZone" }),
            (
                "zone, type, operation, group, code",
                filter {
                    $0.zone = "Zone77"
                    $0.recordType = "Type7"
                    $0.operation = "records/modify"
                    $0.groupName = "Group 7"
                    $0.code = "conflict"
                }
            ),
            (
                "frequent values that never meet: nothing",
                filter {
                    $0.zone = "_defaultZone"
                    $0.recordType = "Type7"
                    $0.operation = "zones/modify"
                    $0.groupName = "Group 7"
                    $0.database = "public"
                    $0.environment = "development"
                    $0.container = "iCloud.com.example.app2"
                    $0.code = "conflict"
                    $0.microsecondsMin = 20_290
                }
            ),
            ("slower than any: nothing", filter { $0.microsecondsMin = 30_000 }),
            ("status 5xx: nothing", filter { $0.status = 500...599 }),
            (
                "status 4xx and slow",
                filter {
                    $0.status = 400...499
                    $0.microsecondsMin = 20_299
                }
            ),
            ("an operation's identifier: nothing", filter { $0.operationID = LogID(high: 5, low: 5) }),
            ("an identifier of a request", filter { $0.idPrefix = "01a0c7" }),
            (
                "the first day, one code",
                filter {
                    $0.to = Self.start + 86_400_000
                    $0.code = "throttled"
                }
            ),
            (
                "the last hour, failures",
                filter {
                    $0.from = late - 3_600_000
                    $0.onlyFailures = true
                }
            ),
            ("the name of a record", filter { $0.item = "record-777" }),
            ("a part of a text", filter { $0.text = "zone99" }),
            (
                "a part of a text, and a user: nothing",
                filter {
                    $0.text = "OnceZ"
                    $0.user = user
                }
            ),
            ("a part of no text: nothing", filter { $0.text = "nowhere to be found" }),
            ("pushes: nothing", filter { $0.kinds = [.push] }),
        ]
    }

    private mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &chance) }
}
