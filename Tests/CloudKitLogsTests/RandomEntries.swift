import CloudKitLogs
import SeededChance

/// Random entries and filters, in which the same words come up again.
struct RandomEntries {
    var chance: SplitMix64

    static let start: Int64 = 1_790_000_000_000

    init(seed: UInt64) { chance = SplitMix64(seed: seed) }

    mutating func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &chance)] }
    mutating func maybe(_ one: Int, of all: Int) -> Bool { Int.random(in: 0..<all, using: &chance) < one }
    mutating func word(_ name: String, _ count: Int) -> String { "\(name)\(Int.random(in: 0..<count, using: &chance))" }

    mutating func id(_ time: Int64) -> LogID {
        LogID(
            milliseconds: time,
            random: (.random(in: 0 ... .max, using: &chance), .random(in: 0 ... .max, using: &chance)))
    }

    /// Returns the pseudonym of one of some records; several have the same low bytes.
    mutating func record() -> UInt64 {
        let number = UInt64.random(in: 1...90, using: &chance)
        return (number << 32) | (number % 40)
    }

    /// Returns an entry about so many milliseconds after the start.
    mutating func entry(at milliseconds: Int64) -> LogEntry {
        let jitter = Int64.random(in: -500...500, using: &chance)
        var entry = LogEntry(
            id: id(Self.start + milliseconds + jitter), kind: pick(LogEntry.Kind.allCases),
            operation: pick(["records/modify", "records/query", "zones/list", "changes/zone"]))
        if maybe(9, of: 10) { entry.container = word("iCloud.App", 3) }
        if maybe(9, of: 10) { entry.environment = pick(["development", "production"]) }
        if maybe(8, of: 10) { entry.database = pick(["public", "private", "shared"]) }
        if maybe(8, of: 10) { entry.user = word("_user", 300) }
        if maybe(8, of: 10) { entry.device = word("device", 400) }
        if maybe(6, of: 10) { entry.zone = word("Zone", 40) }
        if maybe(5, of: 10) { entry.recordType = word("Type", 12) }
        if maybe(5, of: 10) { entry.client = pick(["sdk", "web"]) }
        if maybe(5, of: 10) { entry.operationID = id(Self.start) }
        if maybe(3, of: 10) { entry.group = LogID(high: 7, low: UInt64(Int.random(in: 1...5, using: &chance))) }
        if maybe(3, of: 10) { entry.groupName = word("Group ", 5) }
        if maybe(2, of: 5) {
            entry.setRecords((0..<Int.random(in: 1...6, using: &chance)).map { _ in record() })
        }
        entry.status = pick([200, 200, 200, 400, 404, 429, 503])
        entry.microseconds = Int.random(in: 0..<2_000_000, using: &chance)
        entry.bytesIn = Int.random(in: 0..<100_000, using: &chance)
        entry.bytesOut = pick([0, 10, 300, 70_000])
        entry.itemsIn = Int.random(in: 0...400, using: &chance)
        entry.itemsOut = entry.itemsIn
        if maybe(1, of: 5) {
            let code = pick(["throttled", "conflict", "schemaMismatch"])
            entry.code = code
            entry.itemsFailed = 1
            entry.retryAfter = code == "throttled" ? 30 : 0
            let failure = LogFailure(
                item: word("record", 50), recordType: entry.recordType, code: code,
                reason: "Field '\(word("f", 4))' fails",
                remedy: maybe(1, of: 2) ? "Mend it." : nil)
            entry.details = LogDetails(failures: [failure], attributes: ["order": word("o", 3)])
        }
        return entry
    }

    /// Returns a filter with up to three conditions.
    mutating func filter(lasting milliseconds: Int64) -> LogFilter {
        var filter = LogFilter()
        for _ in 0..<Int.random(in: 0...3, using: &chance) {
            switch Int.random(in: 0..<20, using: &chance) {
            case 0: filter.from = Self.start + Int64.random(in: 0...milliseconds, using: &chance)
            case 1: filter.to = Self.start + Int64.random(in: 0...milliseconds, using: &chance)
            case 2: filter.kinds = [pick(LogEntry.Kind.allCases), pick(LogEntry.Kind.allCases)]
            case 3: filter.container = word("iCloud.App", 4)
            case 4: filter.environment = pick(["development", "production"])
            case 5: filter.database = pick(["public", "private", "shared"])
            case 6: filter.user = word("_user", 310)
            case 7: filter.device = word("device", 410)
            case 8: filter.zone = word("Zone", 42)
            case 9: filter.recordType = word("Type", 13)
            case 10: filter.operation = pick(["records/modify", "records/query", "none"])
            case 11: filter.group = LogID(high: 7, low: UInt64(Int.random(in: 1...6, using: &chance)))
            case 12: filter.groupName = word("Group ", 6)
            case 13: filter.status = pick([400...499, 200...200, 503...503, 600...700])
            case 14: filter.code = pick(["throttled", "conflict", "other"])
            case 15: filter.onlyFailures = true
            case 16: filter.microsecondsMin = Int.random(in: 0..<2_000_000, using: &chance)
            case 17: filter.item = word("record", 55)
            case 18: filter.record = record()
            default: filter.text = pick(["ZONE1", "type", "'f2'", "throt", "group 3", "nothing"])
            }
        }
        return filter
    }
}
