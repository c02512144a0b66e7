import CloudKitModel
import Testing

@testable import CloudKitRecordLayer

@Suite(.timeLimit(.minutes(20))) struct QueryPlanTests {
    private func refusal(
        _ filters: [QueryFilter], sorts: [QuerySort] = [], indexes: RecordIndexes? = Library.indexes
    ) -> RequestFailure? {
        do throws(RequestFailure) {
            _ = try Library.plan(filters, sorts: sorts, indexes: indexes)
            return nil
        } catch {
            return error
        }
    }

    @Test func `B-QRY-16 an unknown type is not found`() {
        let failure = refusal([], indexes: nil)
        #expect(failure?.code == .typeNotFound)
        #expect(failure?.reason == "Did not find record type: Song")
    }

    @Test func `B-QRY-15 a type without any index is not indexable`() {
        let bare = RecordIndexes(recordType: "Song", fields: [IndexedField(name: "title", type: .string, marks: [])])
        let failure = refusal([filter("title", .equals, .string("x"))], indexes: bare)
        #expect(failure?.code == .indexMissing)
        #expect(failure?.reason == "Type is not marked indexable: Song")
    }

    @Test func `B-QRY-15, B-ERR-08 a filter needs its index`() {
        let failure = refusal([filter("note", .equals, .string("x"))])
        #expect(failure?.code == .indexMissing)
        #expect(failure?.code.native.subcode == 2015)
        #expect(failure?.reason == "Field 'note' is not marked queryable")
        #expect(
            refusal([filter("nowhere", .equals, .string("x"))])?.reason == "Field 'nowhere' is not marked queryable")
        #expect(
            refusal([filter("note", .containsAnyTokens, .string("x"))])?.reason
                == "Field 'note' is not marked searchable")
    }

    @Test func `B-QRY-15 an order needs its index`() {
        #expect(
            refusal([filter("plays", .equals, .int64(1))], sorts: [QuerySort(key: .field("artist"))])?.reason
                == "Field 'artist' is not marked sortable")
        #expect(
            refusal([], sorts: [QuerySort(key: .system(.modifiedTimestamp))])?.reason
                == "Field '___modTime' is not marked sortable")
    }

    @Test func `B-QRY-15 a query without filters needs record names, even with an order`() {
        let indexes = RecordIndexes(
            recordType: "Song", fields: [IndexedField(name: "plays", type: .int64, marks: Library.ordered)])
        #expect(refusal([], indexes: indexes)?.reason == "Field 'recordName' is not marked queryable")
        #expect(
            refusal([], sorts: [QuerySort(key: .field("plays"))], indexes: indexes)?.reason
                == "Field 'recordName' is not marked queryable")
    }

    @Test func `B-SCH-07 an index that is being built cannot be used`() {
        let indexes = RecordIndexes(
            recordType: "Song",
            fields: [IndexedField(name: "plays", type: .int64, marks: Library.ordered, building: .sortable)])
        #expect(refusal([filter("plays", .equals, .int64(1))], indexes: indexes) == nil)
        let failure = refusal(
            [filter("plays", .equals, .int64(1))], sorts: [QuerySort(key: .field("plays"))], indexes: indexes)
        #expect(failure?.reason == "Field 'plays' is not marked sortable")
        #expect(failure?.remedy == "The index is being built: ask again later.")
    }

    @Test func `B-QRY-14 ranges go by either ordered index`() {
        let indexes = RecordIndexes(
            recordType: "Song", fields: [IndexedField(name: "plays", type: .int64, marks: .sortable)])
        #expect(refusal([filter("plays", .lessThan, .int64(1))], indexes: indexes) == nil)
        #expect(
            refusal([filter("plays", .equals, .int64(1))], indexes: indexes)?.reason
                == "Field 'plays' is not marked queryable")
    }

    @Test(arguments: [
        ("diary", "ENCRYPTED_STRING"), ("data", "BYTES"), ("cover", "ASSETID"),
    ])
    func `B-QRY-06 data, assets and encrypted values cannot be asked for`(name: String, type: String) {
        let failure = refusal([filter(name, .equals, .string("x"))])
        #expect(failure?.code == .badRequest)
        #expect(
            failure?.reason
                == "Field '\(name)' has a value type of \(type) and cannot be queried using filter type EQUALS")
    }

    @Test(arguments: [
        filter("tags", .equals, .string("x")), filter("title", .listContains, .string("x")),
        filter("plays", .beginsWith, .string("1")), filter("artist", .lessThan, .string("x")),
        filter("title", .near, place(1, 1), distance: 1), filter("studio", .greaterThan, place(1, 1)),
        filter("codes", .listMemberBeginsWith, .string("1")),
    ])
    func `B-QRY-04 a comparator has to suit the field`(filter: QueryFilter) {
        #expect(refusal([filter])?.code == .badRequest)
        #expect(refusal([filter])?.reason.contains("cannot be queried using filter type") == true)
    }

    @Test func `B-REC-11 a value has to be of the field's type`() {
        #expect(refusal([filter("plays", .equals, .string("1"))])?.reason == "Invalid value, expected type INT64.")
        #expect(refusal([filter("plays", .equals, .double(1.5))])?.reason == "Invalid value, expected type INT64.")
        #expect(
            refusal([filter("title", .in, .list(.int64, [.int64(1)]))])?.reason
                == "Invalid value, expected type STRING.")
        #expect(refusal([filter("title", .in, .string("x"))])?.reason == "BadRequestException: Unexpected input")
        #expect(refusal([filter("rating", .equals, .int64(1))]) == nil)
        #expect(refusal([filter("released", .equals, .int64(1))]) == nil)
        #expect(refusal([filter("artist", .equals, .string("name"))]) == nil)
    }

    @Test func `B-LIM-09 an IN takes 250 values`() {
        func ask(_ count: Int) -> QueryFilter {
            filter("plays", .in, .list(.int64, (0..<count).map { .int64(Int64($0)) }))
        }
        #expect(refusal([ask(250)]) == nil)
        let failure = refusal([ask(251)])
        #expect(failure?.code == .sizeLimitExceeded)
        #expect(
            failure?.reason == "Query filter exceeds the limit of values: 250 for container iCloud.com.example.songs")
    }

    @Test func `B-QRY-11 an order by distance ascends from a place`() {
        let here = LocationValue(latitude: 1, longitude: 2)
        #expect(refusal([], sorts: [QuerySort(key: .field("studio"), relativeLocation: here)]) == nil)
        #expect(refusal([], sorts: [QuerySort(key: .field("studio"))])?.code == .badRequest)
        #expect(refusal([], sorts: [QuerySort(key: .field("plays"), relativeLocation: here)])?.code == .badRequest)
        #expect(
            refusal([], sorts: [QuerySort(key: .field("studio"), ascending: false, relativeLocation: here)])?.code
                == .badRequest)
    }

    @Test func `B-QRY-01 user records cannot be queried`() {
        #expect(throws: RequestFailure.self) {
            try QueryPlan(
                Query(recordType: "Users"), indexes: Library.indexes,
                settings: QuerySettings(container: ContainerID("c")))
        }
    }

    // MARK: Which index drives

    private func driver(_ filters: QueryFilter...) throws -> IndexScan { try Library.plan(filters).scan }

    @Test func `the most selective filter drives`() throws {
        let equality = filter("title", .equals, .string("x"))
        let list = filter("tags", .listContains, .string("x"))
        let prefix = filter("title", .beginsWith, .string("x"))
        let range = filter("plays", .lessThan, .int64(3))
        let near = filter("studio", .near, place(1, 1), distance: 1000)
        let negation = filter("plays", .notEquals, .int64(1))
        #expect(try driver(range, equality).rank == .equality)
        #expect(try driver(prefix, list).rank == .member)
        #expect(try driver(range, prefix).rank == .prefix)
        #expect(try driver(near, range).rank == .range)
        #expect(try driver(negation, near).rank == .near)
        #expect(try driver(negation).rank == .extent)
        #expect(
            try driver(near, QueryFilter(key: .anySearchable, comparator: .never, value: .int64(0))).rank == .nothing)
    }

    @Test func `B-QRY-02 both ends of BETWEEN make one range`() throws {
        let scan = try driver(
            filter("plays", .greaterThanOrEquals, .int64(2)), filter("plays", .lessThanOrEquals, .int64(4)))
        #expect(scan.parts.count == 1)
        let empty = try driver(filter("plays", .greaterThan, .int64(4)), filter("plays", .lessThan, .int64(2)))
        #expect(empty.rank == .nothing)
    }

    @Test func `values of an IN that are the same text are looked up once`() throws {
        #expect(try driver(filter("title", .in, texts("Blue", "BLUE", "red"))).parts.count == 2)
    }

    @Test func `B-QRY-10 a circle is a handful of ranges`() throws {
        for (latitude, longitude) in [(52.5, 13.4), (0.0, 179.9999), (-89.9, 10), (0, 0), (45, -180)] {
            for distance in [0.5, 10, 1000, 10_000, 1_000_000] {
                let scan = try driver(filter("studio", .near, place(latitude, longitude), distance: distance))
                #expect(!scan.parts.isEmpty && scan.parts.count <= 16)
            }
        }
    }

    @Test func `positions survive their encoding`() {
        let positions: [QueryPosition.Place] = [
            .entry(zone: 7, [0, 1, 255, 0]),
            .sorted(SortPosition(values: [[0], [2, 65, 0]], recordName: "näme", zone: 1)),
            .sorted(SortPosition(values: [[0]], recordName: "", zone: 4_000_000_000, isGroupEnd: true)),
        ]
        for place in positions { #expect(QueryPosition(decoding: QueryPosition(place).encoded)?.place == place) }
        for bytes: [UInt8] in [[], [1], [0x15], [0x15, 7], [0x15, 7, 1, 2], [0xFF, 0xFF]] {
            #expect(QueryPosition(decoding: bytes) == nil)
        }
    }
}
