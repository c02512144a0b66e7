import Synchronization
import Testing

@testable import CloudKitLogs

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

    @Test func `entries of two minutes may come in turns`() {
        var collector = TelemetryCollector()
        var random = RandomEntries(seed: 5)
        for index in 0..<100 {
            var entry = random.entry(at: 0)
            entry.id = random.id(RandomEntries.start + Int64(index % 2) * 60_000)
            entry.itemsIn = index % 2 + 1
            collector.add(entry)
        }
        let samples = Dictionary(grouping: collector.take(), by: \.minute)
        #expect(samples.count == 2)
        #expect(samples.keys.max().flatMap { samples[$0] }?.reduce(0) { $0 + $1.counts.itemsIn } == 100)
        #expect(samples.keys.min().flatMap { samples[$0] }?.reduce(0) { $0 + $1.counts.itemsIn } == 50)
        for keys in samples.values.map({ $0.map(\.key) }) { #expect(Set(keys).count == keys.count) }
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

    @Test func `lines and entries are made of reports by the writer, and without a store lines alone`() async {
        struct Report: LogReport {
            var number: Int

            func makeEntry() -> LogEntry? {
                guard number % 2 == 0 else { return nil }
                return LogEntry(id: LogID(milliseconds: 1), kind: .request, operation: "o\(number)")
            }

            func makeLine() -> ReportLine? {
                guard number % 3 == 0 else { return nil }
                return ReportLine(time: Int64(number), level: .info, message: "m", values: [])
            }
        }
        for hasStore in [true, false] {
            let buffer = LogBuffer()
            let store = MemoryLogStore()
            let lines = Mutex<[ReportLine]>([])
            let writer = LogWriter(
                buffer: buffer, store: hasStore ? store : nil, retention: LogRetention(), now: { 0 },
                report: { _ in }, writeLines: { written in lines.withLock { $0 += written } })
            for number in 0..<7 { buffer.add(Report(number: number)) }
            await writer.write()
            #expect(lines.withLock { $0.map(\.time) } == [0, 3, 6])
            #expect(store.all.map(\.operation) == (hasStore ? ["o0", "o2", "o4", "o6"] : []))
        }
    }

    @Test func `pseudonyms are SipHash-2-4 of the place and the name`() throws {
        // The vectors of its authors: the key 00…0f and the bytes 00, 01, 02…
        let pseudonyms = RecordPseudonyms(key: (0..<16).map { $0 })
        let vectors: [(count: Int, hash: UInt64)] = [
            (0, 0x726f_db47_dd0e_0e31), (1, 0x74f8_39c5_93dc_67fd), (7, 0xab02_00f5_8b01_d137),
            (8, 0x93f5_f579_9a93_2462), (15, 0xa129_ca61_49be_45e5),
        ]
        for (count, hash) in vectors { #expect(pseudonyms.hash((0..<UInt8(count)).map { $0 }) == hash) }
        let one = pseudonyms.pseudonym(of: "settings", zone: "Notes", owner: "_ada")
        #expect(one == pseudonyms.pseudonyms(of: ["x", "settings"], zone: "Notes", owner: "_ada")[1])
        // Wherever words of eight bytes begin and end.
        for (zone, name) in (0..<10).flatMap({ zone in (0..<20).map { (zone, $0) } }) {
            let (zone, name) = (String(repeating: "z", count: zone), String(repeating: "ñ", count: name))
            let whole = pseudonyms.hash(Array("_ada\0\(zone)\0\(name)".utf8))
            #expect(pseudonyms.pseudonym(of: name, zone: zone, owner: "_ada") == whole)
        }
        // Another place, owner or cloud has another one.
        #expect(one != pseudonyms.pseudonym(of: "settings", zone: "Note", owner: "_ada"))
        #expect(one != pseudonyms.pseudonym(of: "settings", zone: "Notes", owner: "_ben"))
        #expect(one != RecordPseudonyms(key: [9]).pseudonym(of: "settings", zone: "Notes", owner: "_ada"))
        #expect(UInt64(RecordPseudonyms.text(0x1f), radix: 16) == 0x1f && RecordPseudonyms.text(0x1f).count == 16)
        var form = LogFilterForm()
        form.values[.named] = RecordPseudonyms.text(one)
        #expect(try form.filter(now: 0).record == one)
    }

    @Test func `an entry keeps each record once, and no more than a request may name`() {
        var entry = LogEntry(id: LogID(milliseconds: 1), kind: .request, operation: "o")
        entry.setRecords([5, 3, 5, 1])
        #expect(entry.records == [1, 3, 5])
        entry.setRecords((0..<1000).map { UInt64($0) })
        #expect(entry.records.count == LogEntry.recordsMax)
    }

    @Test func `texts from outside become short and printable`() {
        #expect(LogWord.cleaned("Zone 1") == "Zone 1")
        #expect(LogWord.cleaned("a\nb\u{202E}c") == "a?b?c")
        #expect(LogWord.cleaned(String(repeating: "ä", count: 999)).unicodeScalars.count == LogWord.charactersMax)
    }
}
