import CloudKitModel
import CloudKitRecordLayer
import OrderedStore
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20))) struct QueryRunTests {
    private func library(_ songs: [Song]) async throws -> Library {
        let library = Library(store: MemoryStore(epoch: 1))
        try await library.save(songs)
        return library
    }

    private func songs(_ titles: String...) -> [Song] {
        titles.enumerated().map { Song(name: "s\($0.offset)", values: ["title": .string($0.element)]) }
    }

    @Test func `B-QRY-07 equality ignores case, BEGINSWITH does not`() async throws {
        let library = try await library(songs("Blue", "blue", "BLUE NOTE", "Red"))
        #expect(try await library.names(filter("title", .equals, .string("BLUE"))) == ["s0", "s1"])
        #expect(try await library.names(filter("title", .in, texts("BLUE", "red"))) == ["s0", "s1", "s3"])
        #expect(try await library.names(filter("title", .beginsWith, .string("Blu"))) == ["s0"])
        #expect(try await library.names(filter("title", .notEquals, .string("blue"))) == ["s2", "s3"])
    }

    @Test func `texts longer than an index entry are distinguished`() async throws {
        let long = String(repeating: "x", count: 300)
        let library = try await library(songs(long + "a", long + "b", long))
        #expect(try await library.names(filter("title", .equals, .string(long + "b"))) == ["s1"])
        #expect(try await library.names(filter("title", .beginsWith, .string(long + "a"))) == ["s0"])
        #expect(try await library.names(filter("title", .greaterThan, .string(long))).sorted() == ["s0", "s1"])
        #expect(try await library.names(filter("title", .lessThan, .string(long + "b"))).sorted() == ["s0", "s2"])
    }

    @Test func `B-QRY-08 words may sit in different fields`() async throws {
        let library = try await library([
            Song(name: "one", values: ["title": .string("Crème"), "lyrics": .string("of the BRÛLÉE")]),
            Song(name: "two", values: ["title": .string("crème")]),
            Song(name: "three", values: ["tags": .list(.string, [.string("brulee"), .string("Creme brulee")])]),
        ])
        func ask(_ comparator: QueryFilter.Comparator, _ text: String) -> QueryFilter {
            QueryFilter(key: .anySearchable, comparator: comparator, value: .string(text))
        }
        #expect(try await library.names(ask(.containsAllTokens, "creme brulee")).sorted() == ["one", "three"])
        #expect(try await library.names(ask(.containsAnyTokens, "creme brulee")).sorted() == ["one", "three", "two"])
        #expect(try await library.names(filter("lyrics", .containsAnyTokens, .string("brulee"))) == ["one"])
    }

    @Test func `B-QRY-09 a search for stop words alone finds nothing`() async throws {
        let library = try await library(songs("of the", "river of"))
        #expect(try await library.names(filter("title", .containsAnyTokens, .string("of the"))) == [])
        #expect(try await library.names(filter("title", .containsAllTokens, .string("of the river"))) == ["s1"])
    }

    @Test func `B-QRY-10 NEAR finds records inside the circle, across the date line too`() async throws {
        let library = try await library([
            Song(name: "west", values: ["studio": place(0, -179.99)]),
            Song(name: "east", values: ["studio": place(0, 179.99)]),
            Song(name: "far", values: ["studio": place(0, 179)]),
            Song(name: "pole", values: ["studio": place(90, 0)]),
            Song(name: "none"),
        ])
        #expect(
            try await library.names(filter("studio", .near, place(0, 180), distance: 2000)).sorted() == [
                "east", "west",
            ])
        #expect(try await library.names(filter("studio", .near, place(89.99, 123), distance: 2000)) == ["pole"])
    }

    @Test func `B-QRY-11 an order by distance ignores altitude and ends with records without a place`() async throws {
        let high = LocationValue(latitude: 0, longitude: 1, altitude: 9000)
        let library = try await library([
            Song(name: "none"), Song(name: "c", values: ["studio": place(0, -170)]),
            Song(name: "a", values: ["studio": .location(high)]), Song(name: "b", values: ["studio": place(0, 2)]),
        ])
        let sort = QuerySort(key: .field("studio"), relativeLocation: LocationValue(latitude: 0, longitude: 0))
        #expect(try await library.names(sorts: [sort]) == ["a", "b", "c", "none"])
        #expect(
            try await library.names(
                filter("studio", .near, place(0, 0), distance: 300_000), sorts: [sort]) == ["a", "b"])
    }

    @Test func `B-QRY-12 keys order one after the other, missing values first when ascending`() async throws {
        let library = try await library([
            Song(name: "a", values: ["plays": .int64(2), "rating": .double(1)]),
            Song(name: "b", values: ["plays": .int64(1), "rating": .double(1)]),
            Song(name: "c", values: ["plays": .int64(2), "rating": .double(3)]),
            Song(name: "d", values: ["rating": .double(2)]),
            Song(name: "e", values: ["plays": .int64(2)]),
        ])
        func order(_ plays: Bool, _ rating: Bool) async throws -> [String] {
            try await library.names(sorts: [
                QuerySort(key: .field("plays"), ascending: plays), QuerySort(key: .field("rating"), ascending: rating),
            ])
        }
        #expect(try await order(true, true) == ["d", "b", "e", "a", "c"])
        #expect(try await order(true, false) == ["d", "b", "c", "a", "e"])
        #expect(try await order(false, true) == ["e", "a", "c", "b", "d"])
    }

    @Test func `B-QRY-22 children are found by their parent or reference`() async throws {
        var child = Song(name: "child", values: ["artist": .reference(ReferenceValue(recordName: "ada"))])
        child.parent = "album"
        let library = try await library([child, Song(name: "other")])
        let parent = QueryFilter(
            key: .system(.parent), comparator: .equals, value: .reference(ReferenceValue(recordName: "album")))
        #expect(try await library.names(parent) == ["child"])
        #expect(
            try await library.names(filter("artist", .equals, .reference(ReferenceValue(recordName: "ada")))) == [
                "child"
            ])
    }

    @Test func `B-QRY-19 there is a next page only if there is more`() async throws {
        let library = try await library(songs("a", "b", "c", "d"))
        #expect(try await library.pages(Library.plan([]), limit: 2) == [["2/s0", "2/s1"], ["2/s2", "2/s3"]])
        let sorts = [QuerySort(key: .field("title"))]
        #expect(
            try await library.pages(Library.plan([], sorts: sorts), limit: 4) == [["2/s0", "2/s1", "2/s2", "2/s3"]])
    }

    @Test(arguments: [[], [QuerySort(key: .field("plays"), ascending: false)]])
    func `B-QRY-18 saves between pages neither repeat nor skip other records`(sorts: [QuerySort]) async throws {
        func song(_ number: Int) -> Song { Song(name: "s\(100 + number)", values: ["plays": .int64(Int64(number))]) }
        let library = try await library((0..<40).filter { $0 % 2 == 0 }.map(song))
        let plan = try Library.plan([], sorts: sorts)
        let pages = try await library.pages(plan, limit: 3) { page in
            try await library.save([song(page * 2 - 1), song(41 - page * 2)])
            if page % 2 == 0 { try await library.delete(song(page * 4 + 1)) }
        }
        let found = pages.flatMap { $0 }
        #expect(Set(found).count == found.count)
        #expect(Set((0..<40).filter { $0 % 2 == 0 }.map { "2/s\(100 + $0)" }).isSubset(of: found))
    }

    @Test func `B-QRY-20 a commit is found at once`() async throws {
        let library = try await library(songs("a"))
        try await library.save([Song(name: "s0", values: ["title": .string("b")])])
        #expect(try await library.names(filter("title", .equals, .string("b"))) == ["s0"])
        #expect(try await library.names(filter("title", .equals, .string("a"))) == [])
    }

    @Test func `B-QRY-21 records that are not visible are passed over`() async throws {
        let library = try await library(songs("a", "b", "c"))
        let plan = try Library.plan([])
        let rows = try await library.store.read(Library.partition) { view in
            var run = QueryRun(plan, in: view) { record, _ in record.name != "s1" }
            return try await run.rows(zones: [2], limit: 2)
        }
        #expect(rows.rows.map(\.record.name) == ["s0", "s2"])
        #expect(rows.next == nil)
    }

    @Test func `B-SCH-07 an index built over older records finds them`() async throws {
        let library = Library(store: MemoryStore(epoch: 1))
        let before = RecordIndexes(
            recordType: "Song", fields: [IndexedField(name: "title", type: .string, marks: .queryable)])
        let all = (0..<25).map { number in
            let plays = FieldValue.int64(Int64(number % 3))
            return Song(name: "s\(100 + number)", values: number % 5 == 0 ? [:] : ["plays": plays])
        }
        try await library.save(all, indexes: before)
        // Left from an index that was taken away.
        try await library.save([all[1]])
        try await library.save([Song(name: "s101", values: ["plays": .int64(2)])], indexes: before)
        let field = IndexedField(name: "plays", type: .int64, marks: Library.ordered)
        try await library.build(field)
        var now = all
        now[1].values["plays"] = .int64(2)
        for sorts in [[], [QuerySort(key: .field("plays"))]] {
            let naive = NaiveQuery(filters: [filter("plays", .notEquals, .int64(0))], sorts: sorts)
            let found = try await library.pages(Library.plan(naive.filters, sorts: sorts), limit: 4).flatMap { $0 }
            #expect(found.sorted() == naive.answer(now).sorted())
            #expect(sorts.isEmpty || found == naive.answer(now))
        }
    }

    @Test func `unchanged fields cost no index entries`() throws {
        let song = Song(name: "s", values: ["title": .string("a"), "plays": .int64(1)])
        var other = song
        other.values["plays"] = .int64(2)
        let entries = try IndexEntries(zone: 2, from: song.stored, to: other.stored, newIndexes: Library.indexes)
        #expect(entries.removed.count == 1 && entries.added.count == 1)
        let same = try IndexEntries(zone: 2, from: song.stored, to: song.stored, newIndexes: Library.indexes)
        #expect(same.removed.isEmpty && same.added.isEmpty)
    }
}

extension Library {
    /// Builds an index over all songs, a few at a time.
    func build(_ field: IndexedField) async throws {
        try await store.write(Self.partition) {
            $0.clearIndexes(of: field.name, keeping: [], recordType: "Song", zone: 2)
        }
        var last: String?
        repeat {
            last = try await store.write(Self.partition) { [last] transaction in
                try await transaction.buildIndexes(of: [field], recordType: "Song", zone: 2, after: last, limit: 4)
            }
        } while last != nil
    }
}
