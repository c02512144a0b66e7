import CloudKitModel
import CloudKitRecordLayer
import OrderedStore
import SeededChance
import Synchronization
import Testing

/// Counts the reads of a store.
final class ReadCounter: Snapshot {
    struct Count: Hashable {
        var entries = 0
        var records = 0
    }

    private let view: ReadTransaction
    private let state = Mutex(Count())

    init(_ view: ReadTransaction) { self.view = view }

    var count: Count { state.withLock { $0 } }

    func get(_ key: Bytes, in partition: Partition) async throws -> Bytes? {
        state.withLock { $0.records += 1 }
        return try await view.get(key)
    }

    func get(_ keys: [Bytes], in partition: Partition) async throws -> [Bytes?] {
        state.withLock { $0.records += keys.count }
        return try await view.get(keys)
    }

    func scan(_ range: KeyRange, in partition: Partition, limit: Int, reverse: Bool) async throws -> [Entry] {
        let entries = try await view.scan(range, limit: limit, reverse: reverse)
        state.withLock { $0.entries += entries.count }
        return entries
    }
}

/// The costs of queries, measured by counting reads, not by time.
@Suite(.timeLimit(.minutes(20))) struct QueryCostTests {
    private static let count = 3000

    private func library() async throws -> Library {
        let library = Library(store: MemoryStore(epoch: 1))
        var chance = SplitMix64(seed: 9)
        var songs: [Song] = []
        for number in 0..<Self.count {
            var song = Song(name: "s\(10_000 + number)")
            song.values["title"] = .string(number % 100 == 0 ? "Rare \(number)" : "Song \(number)")
            song.values["plays"] = .int64(Int64(number))
            song.values["codes"] = .list(.int64, [.int64(Int64(number % 50))])
            let latitude = Double.random(in: -60...60, using: &chance)
            song.values["studio"] = place(latitude, Double.random(in: -180...180, using: &chance))
            songs.append(song)
        }
        try await library.save(songs)
        return library
    }

    /// Returns the number of reads of each page of a query.
    private func costs(
        _ library: Library, _ filters: [QueryFilter], _ sorts: [QuerySort] = [], limit: Int = 20
    ) async throws -> (found: Int, pages: [ReadCounter.Count]) {
        let plan = try Library.plan(filters, sorts: sorts)
        var found = 0
        var pages: [ReadCounter.Count] = []
        var position: QueryPosition?
        repeat {
            let (rows, count) = try await library.store.read(Library.partition) { [position] view in
                let counter = ReadCounter(view)
                var run = QueryRun(plan, in: ReadTransaction(home: Library.partition, snapshot: counter))
                return (try await run.rows(zones: [2], after: position, limit: limit), counter.count)
            }
            found += rows.rows.count
            pages.append(count)
            position = rows.next
        } while position != nil
        return (found, pages)
    }

    @Test func `the last page of a query costs the same as the first`() async throws {
        let library = try await library()
        for sorts in [[], [QuerySort(key: .field("plays"))], [QuerySort(key: .field("plays"), ascending: false)]] {
            let (found, pages) = try await costs(library, [filter("plays", .greaterThanOrEquals, .int64(0))], sorts)
            #expect(found == Self.count)
            #expect(pages.count == Self.count / 20)
            #expect(pages.allSatisfy { $0.records <= 60 && $0.entries <= 201 })
        }
    }

    @Test func `a prefix reads only the matching entries`() async throws {
        let library = try await library()
        let (found, pages) = try await costs(library, [filter("title", .beginsWith, .string("Rare"))], limit: 100)
        #expect(found == 30)
        #expect(pages == [ReadCounter.Count(entries: 30, records: 30)])
    }

    @Test func `a circle reads about as many entries as it finds records`() async throws {
        let library = try await library()
        let (found, pages) = try await costs(
            library, [filter("studio", .near, place(10, 20), distance: 1_000_000)], limit: 200)
        #expect(found > 5)
        #expect(pages.reduce(0) { $0 + $1.records } == found)
        #expect(pages.reduce(0) { $0 + $1.entries } < 12 * found)
    }

    @Test func `the nearest are found without reading all places`() async throws {
        let library = try await library()
        let sort = QuerySort(key: .field("studio"), relativeLocation: LocationValue(latitude: 10, longitude: 20))
        let plan = try Library.plan([], sorts: [sort])
        let (found, count) = try await library.store.read(Library.partition) { view in
            let counter = ReadCounter(view)
            var run = QueryRun(plan, in: ReadTransaction(home: Library.partition, snapshot: counter))
            return (try await run.rows(zones: [2], limit: 5).rows.count, counter.count)
        }
        #expect(found == 5)
        #expect(count.records <= 20 && count.entries < 1000)
    }

    @Test func `few matches are sorted without walking the order`() async throws {
        let library = try await library()
        let (found, pages) = try await costs(
            library, [filter("codes", .listContains, .int64(7))], [QuerySort(key: .field("plays"))], limit: 20)
        #expect(found == 60)
        #expect(pages.allSatisfy { $0.records <= 60 && $0.entries <= 120 })
    }
}
