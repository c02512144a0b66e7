import CloudKitLogs
import Synchronization
import Testing

/// The values of the log, without a store.
@Suite(.timeLimit(.minutes(1)))
struct LogValueTests {
    @Test func `an identifier has its time in it and is a UUID of version 7`() throws {
        let id = LogID(milliseconds: 1_790_000_000_123, random: (.max, .max))
        #expect(id.milliseconds == 1_790_000_000_123)
        let text = id.description
        #expect(text.count == 36 && Array(text)[14] == "7" && Array(text)[19] == "b")
        #expect(LogID(text) == id)
        #expect(LogID(text.uppercased()) == id)
        #expect(LogID("x" + text.dropFirst()) == nil)
        #expect(LogID(String(text.dropLast())) == nil)
    }

    @Test func `a prefix stands for all identifiers that begin with it`() throws {
        let id = LogID(milliseconds: 1_790_000_000_123, random: (0x123, 0x0123_4567_89AB_CDEF))
        for length in 1...36 {
            let range = try #require(LogID.range(ofPrefix: String(id.description.prefix(length))))
            #expect(range.lower <= id && id <= range.upper)
            #expect(range.lower.description.hasPrefix(id.description.prefix(length)))
        }
        #expect(LogID.range(ofPrefix: "") == nil)
        #expect(LogID.range(ofPrefix: "0g") == nil)
        #expect(LogID.range(ofPrefix: String(repeating: "0", count: 33)) == nil)
    }

    @Test func `an entry's stored form is read back, and cut bytes are an error`() throws {
        var random = RandomEntries(seed: 1)
        for index in 0..<500 {
            let entry = random.entry(at: Int64(index))
            var writer = EntryWriter()
            entry.write(to: &writer)
            var reader = EntryReader(writer.bytes)
            #expect(try LogEntry(&reader) == entry)
            #expect(reader.isAtEnd)
            var cut = EntryReader(Array(writer.bytes.dropLast(1)))
            #expect(throws: EntryReader.Malformed.self) { try LogEntry(&cut) }
            var mutated = writer.bytes
            mutated[Int.random(in: mutated.indices, using: &random.chance)] ^= 1 << UInt8(index % 8)
            var other = EntryReader(mutated)
            _ = try? LogEntry(&other)
        }
    }

    @Test func `percentiles are those of the durations, a fifth too high at most`() throws {
        var histogram = LatencyHistogram()
        #expect(histogram.percentile(0.5) == nil)
        for milliseconds in 1...1000 { histogram.add(microseconds: milliseconds * 1000) }
        for (share, exact) in [(0.5, 500.0), (0.95, 950), (0.99, 990), (1, 1000)] {
            let found = try #require(histogram.percentile(share))
            #expect(found >= exact && found <= exact * 1.26)
        }
        histogram.add(microseconds: .max)
        histogram.add(microseconds: -5)
        #expect(histogram.total == 1002)
        var sum = LatencyHistogram()
        sum.add(histogram)
        sum.add(histogram)
        #expect(sum.total == 2004)
    }

    @Test func `every duration lies within the ends of its bucket`() {
        var last = -1
        for bucket in 0..<80 {
            let end = LatencyHistogram(counts: [UInt32](repeating: 0, count: bucket) + [1]).percentile(1) ?? 0
            let microseconds = Int((end * 1000).rounded())
            #expect(microseconds > last)
            var next = LatencyHistogram()
            next.add(microseconds: microseconds)
            #expect(next.counts.count == bucket + 1)
            next = LatencyHistogram()
            next.add(microseconds: microseconds + 1)
            #expect(next.counts.count == bucket + 2)
            last = microseconds
        }
    }

    @Test func `the keys of a minute are bounded`() {
        var collector = TelemetryCollector()
        var random = RandomEntries(seed: 2)
        for index in 0..<3000 {
            var entry = random.entry(at: 0)
            entry.groupName = "g\(index)"
            entry.id = random.id(RandomEntries.start)
            collector.add(entry)
        }
        let samples = collector.take()
        #expect(samples.count <= TelemetryCollector.keysMax + LogEntry.Kind.allCases.count)
        #expect(samples.reduce(0) { $0 + $1.counts.count } == 3000)
        #expect(collector.take().isEmpty)
    }

    @Test func `a full buffer drops and counts`() {
        let buffer = LogBuffer(entriesMax: 10)
        var random = RandomEntries(seed: 3)
        for index in 0..<15 { buffer.add(random.entry(at: Int64(index))) }
        let taken = buffer.take()
        #expect(taken.entries.count == 10 && taken.dropped == 5 && buffer.dropped == 5)
        #expect(buffer.take().entries.isEmpty)
        #expect(buffer.take().dropped == 0)
    }

    @Test func `the writer writes all in batches, reports what was dropped and removes what is too old`() async {
        let buffer = LogBuffer(entriesMax: 2500)
        let store = MemoryLogStore()
        let events = Mutex<[LogWriter.Event]>([])
        let writer = LogWriter(
            buffer: buffer, store: store, retention: LogRetention(days: 1),
            now: { RandomEntries.start + 2 * 86_400_000 },
            report: { event in events.withLock { $0.append(event) } })
        var random = RandomEntries(seed: 4)
        for index in 0..<2600 { buffer.add(random.entry(at: Int64(index))) }
        await writer.write()
        #expect(store.all.count == 2500)
        #expect(events.withLock { $0 } == [.dropped(100)])
        let counted = store.telemetry(TelemetryQuery(from: 0, to: .max, resolution: .day))
        #expect(counted.reduce(0) { $0 + $1.counts.count } == 2500)
        await writer.prune()
        #expect(store.all.isEmpty)
    }

    @Test func `texts from outside become short and printable`() {
        #expect(LogWord.cleaned("Zone 1") == "Zone 1")
        #expect(LogWord.cleaned("a\nb\u{202E}c") == "a?b?c")
        #expect(LogWord.cleaned(String(repeating: "ä", count: 999)).unicodeScalars.count == LogWord.charactersMax)
    }
}
