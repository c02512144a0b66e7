import CloudKitModel
import CloudKitRecordLayer
import Foundation
import OrderedStore
import OrderedStoreSQLite
import SeededChance
import Testing

/// Random songs, random queries, random pages, held against the naive reading of the query.
@Suite(.timeLimit(.minutes(20))) struct QuerySimulationTests {
    @Test(arguments: 0..<8)
    func `B-QRY-02 results are those of the filters with every index`(seed: UInt64) async throws {
        try await simulate(MemoryStore(epoch: 1), seed: seed, songs: 100, queries: 40)
    }

    @Test(arguments: [100])
    func `B-QRY-02 results are the same on SQLite`(seed: UInt64) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "welkin-queries-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLiteStore(path: folder.appending(path: "store.db").path())
        do {
            try await simulate(store, seed: seed, songs: 40, queries: 15)
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }

    private func simulate(_ store: any OrderedStore, seed: UInt64, songs count: Int, queries: Int) async throws {
        var chance = SongChance(seed: seed)
        let library = Library(store: store)
        var songs: [String: Song] = [:]
        for _ in 0..<count {
            let song = chance.song()
            try await library.save([song])
            songs["\(song.zone)/\(song.name)"] = song
        }
        for key in songs.keys.sorted() where chance.often(1, of: 6) {
            if let song = songs.removeValue(forKey: key) { try await library.delete(song) }
        }
        let all = Array(songs.values)
        try await expectExactIndexes(library, all)
        for _ in 0..<queries {
            let naive = NaiveQuery(filters: chance.filters(), sorts: chance.sorts())
            let plan = try Library.plan(naive.filters, sorts: naive.sorts)
            let zones: [UInt32] = chance.often(1, of: 2) ? [2, 3] : [2]
            let expected = naive.answer(all.filter { zones.contains($0.zone) })
            let found = try await library.pages(
                plan, zones: zones, limit: chance.number(1...9), budget: chance.budget()
            ).flatMap { $0 }
            let message: Comment = "seed \(seed): \(naive.filters) \(naive.sorts)"
            if naive.sorts.isEmpty {
                #expect(found.sorted() == expected.sorted(), message)
            } else {
                #expect(found == expected, message)
            }
        }
    }

    /// Saves and deletions leave exactly the index entries that result from saving the remaining records to an empty
    /// store.
    private func expectExactIndexes(_ library: Library, _ songs: [Song]) async throws {
        let fresh = Library(store: MemoryStore(epoch: 1))
        try await fresh.save(songs)
        let kept = try await library.indexKeys()
        #expect(try await fresh.indexKeys() == kept)
    }
}

extension Library {
    func indexKeys() async throws -> [Bytes] {
        try await store.read(Self.partition) { view in
            try await view.scan(Subspace.index.range, limit: .max).map(\.key)
        }
    }
}

/// Songs and queries that meet often.
struct SongChance {
    private var source: SplitMix64

    init(seed: UInt64) { source = SplitMix64(seed: seed) }

    private static let words = [
        "Blue", "blue", "Night", "café", "Cafe\u{301}", "the", "River", "of", "Rivers", "ÉTUDE", "étude", "no5",
    ]
    private static let tags = ["Jazz", "jazz", "Pop", "popular", "rock", "Rock’n’Roll", ""]
    private static let long = String(repeating: "long ", count: 60)

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &source) }
    mutating func often(_ part: Int, of whole: Int) -> Bool { number(1...whole) <= part }

    private mutating func pick<Value>(_ values: [Value]) -> Value { values[number(0...(values.count - 1))] }

    private mutating func text() -> String {
        if often(1, of: 12) { return Self.long + pick(Self.words) }
        return (0..<number(1...3)).map { _ in pick(Self.words) }.joined(separator: " ")
    }

    mutating func location() -> LocationValue {
        switch number(0...5) {
        case 0: LocationValue(latitude: 52.5, longitude: 13.4)
        case 1: LocationValue(latitude: Double(number(-90...90)), longitude: Double(number(-180...180)))
        case 2: LocationValue(latitude: 89.9, longitude: Double(number(-180...180)))
        case 3:
            LocationValue(latitude: Double(number(-20...20)) / 1000, longitude: often(1, of: 2) ? 179.999 : -179.999)
        default:
            LocationValue(
                latitude: 52.5 + Double(number(-99...99)) / 1000, longitude: 13.4 + Double(number(-99...99)) / 1000)
        }
    }

    private mutating func list(_ value: (inout SongChance) -> FieldValue) -> [FieldValue] {
        (0..<number(0...3)).map { _ in value(&self) }
    }

    mutating func value(_ field: String) -> FieldValue {
        switch field {
        case "title", "lyrics": .string(text())
        case "plays": .int64(Int64(number(-3...6)))
        case "rating": .double(Double(number(-4...8)) / 2)
        case "released": .timestamp(Int64(number(0...5)) * 1000)
        case "studio": .location(location())
        case "artist": .reference(ReferenceValue(recordName: "artist\(number(0...4))"))
        case "codes": .int64(Int64(number(0...5)))
        default: .string(pick(Self.tags))
        }
    }

    mutating func song() -> Song {
        var song = Song(name: "s\(number(0...90))", zone: often(1, of: 3) ? 3 : 2)
        for field in ["title", "lyrics", "plays", "rating", "released", "studio", "artist"] where often(4, of: 5) {
            song.values[field] = value(field)
        }
        if often(4, of: 5) { song.values["tags"] = .list(.string, list { $0.value("tags") }) }
        if often(4, of: 5) { song.values["codes"] = .list(.int64, list { $0.value("codes") }) }
        song.created = Int64(number(0...9))
        song.creator = pick(["_ada", "_bob"])
        song.parent = often(1, of: 2) ? "album\(number(0...3))" : nil
        return song
    }

    mutating func filters() -> [QueryFilter] { (0..<number(0...3)).map { _ in filter() } }

    private mutating func filter() -> QueryFilter {
        if often(1, of: 8) { return systemFilter() }
        if often(1, of: 8) {
            return QueryFilter(
                key: .anySearchable, comparator: pick([.containsAllTokens, .containsAnyTokens]), value: .string(text()))
        }
        let field = pick(["title", "plays", "rating", "released", "studio", "artist", "tags", "codes", "lyrics"])
        let comparator = pick(Self.comparators(field))
        var value = self.value(field)
        switch comparator {
        case .in, .notIn, .listContainsAll, .notListContainsAll, .listContainsAny, .notListContainsAny:
            let base: FieldType.Base = Library.indexes[field]?.type.base ?? .string
            value = .list(base, list { $0.value(field) })
        case .beginsWith, .notBeginsWith, .listMemberBeginsWith, .notListMemberBeginsWith:
            if case .string(let text) = value { value = .string(String(text.prefix(number(0...4)))) }
        default: break
        }
        let distance = comparator == .near ? pick([0.5, 900, 5000, 20_000, 3_000_000, 30_000_000]) : nil
        return QueryFilter(key: .field(field), comparator: comparator, value: value, distance: distance)
    }

    private static func comparators(_ field: String) -> [QueryFilter.Comparator] {
        let equality: [QueryFilter.Comparator] = [.equals, .notEquals, .in, .notIn]
        let range: [QueryFilter.Comparator] = [.lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals]
        let search: [QueryFilter.Comparator] = [.containsAllTokens, .containsAnyTokens]
        let membership: [QueryFilter.Comparator] = [
            .listContains, .notListContains, .listContainsAll, .notListContainsAll, .listContainsAny,
            .notListContainsAny,
        ]
        switch field {
        case "title": return equality + range + search + [.beginsWith, .notBeginsWith]
        case "lyrics": return search
        case "tags": return membership + search + [.listMemberBeginsWith, .notListMemberBeginsWith]
        case "codes": return membership
        case "artist": return equality
        case "studio": return [.near, .near, .near, .equals, .notEquals]
        default: return equality + range
        }
    }

    private mutating func systemFilter() -> QueryFilter {
        switch number(0...4) {
        case 0:
            QueryFilter(
                key: .system(.recordName), comparator: pick([.equals, .notEquals]),
                value: .reference(ReferenceValue(recordName: "s\(number(0...90))")))
        case 1:
            QueryFilter(
                key: .system(.recordName), comparator: .in,
                value: .list(.reference, (0...20).map { .reference(ReferenceValue(recordName: "s\($0 * 3)")) }))
        case 2:
            QueryFilter(
                key: .system(.parent), comparator: .equals, value: .reference(ReferenceValue(recordName: "album1")))
        case 3:
            QueryFilter(
                key: .system(.createdUserRecordName), comparator: .equals,
                value: .reference(ReferenceValue(recordName: "_ada")))
        default:
            QueryFilter(
                key: .system(.createdTimestamp), comparator: .greaterThan, value: .timestamp(Int64(number(0...9))))
        }
    }

    mutating func sorts() -> [QuerySort] { (0..<pick([0, 1, 1, 2, 3])).map { _ in sort() } }

    private mutating func sort() -> QuerySort {
        switch number(0...6) {
        case 0: QuerySort(key: .field("title"), ascending: often(1, of: 2))
        case 1: QuerySort(key: .field("rating"), ascending: often(1, of: 2))
        case 2: QuerySort(key: .field("released"), ascending: often(1, of: 2))
        case 3: QuerySort(key: .system(.createdTimestamp), ascending: often(1, of: 2))
        case 4: QuerySort(key: .field("studio"), ascending: true, relativeLocation: location())
        default: QuerySort(key: .field("plays"), ascending: often(1, of: 2))
        }
    }

    mutating func budget() -> QueryBudget {
        QueryBudget(
            entriesMax: pick([1, 7, 10_000]), bytesMax: pick([1, 900, 1 << 20]), sortedInMemoryMax: pick([0, 5, 1000]))
    }
}
