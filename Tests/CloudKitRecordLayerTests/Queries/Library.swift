import CloudKitModel
import CloudKitRecordLayer
import OrderedStore

/// A song as a test thinks of it: plain values, from which the stored record is made.
struct Song {
    var name: String
    var zone: UInt32 = 2
    var values: [String: FieldValue] = [:]
    var created: Int64 = 1000
    var creator = "_ada"
    var parent: String?

    var stored: StoredRecord {
        get throws {
            let fields = try values.sorted { $0.key < $1.key }.map { try Field(name: $0.key, value: $0.value) }
            return StoredRecord(
                name: name, recordType: "Song", version: 1, feedVersion: 0,
                created: Stamp(timestamp: created, user: UserID(creator)),
                modified: Stamp(timestamp: created + 1, user: UserID(creator)), parent: parent, share: nil,
                shortGUID: nil, fields: fields)
        }
    }

    /// The value under the name by which a query knows it.
    func value(_ key: QueryKey) -> FieldValue? {
        switch key {
        case .field(let name): values[name]
        case .system(.recordName): .reference(ReferenceValue(recordName: name))
        case .system(.createdUserRecordName): .reference(ReferenceValue(recordName: creator))
        case .system(.parent): parent.map { .reference(ReferenceValue(recordName: $0)) }
        case .system(.createdTimestamp): .timestamp(created)
        default: nil
        }
    }
}

/// A store of songs, kept as the write path keeps it.
struct Library {
    let store: any OrderedStore
    static let partition = Partition("library")

    static let all: IndexMarks = [.queryable, .sortable, .searchable]
    static let ordered: IndexMarks = [.queryable, .sortable]

    static let indexes = RecordIndexes(
        recordType: "Song",
        fields: [
            IndexedField(name: "title", type: .string, marks: all),
            IndexedField(name: "lyrics", type: .string, marks: .searchable),
            IndexedField(name: "tags", type: .string.list, marks: [.queryable, .searchable]),
            IndexedField(name: "plays", type: .int64, marks: ordered),
            IndexedField(name: "rating", type: .double, marks: ordered),
            IndexedField(name: "released", type: .timestamp, marks: ordered),
            IndexedField(name: "studio", type: .location, marks: ordered),
            IndexedField(name: "artist", type: .reference, marks: .queryable),
            IndexedField(name: "codes", type: .int64.list, marks: .queryable),
            IndexedField(name: "note", type: .string, marks: []),
            IndexedField(name: "data", type: .bytes, marks: []),
            IndexedField(name: "cover", type: .asset, marks: []),
            IndexedField(name: "diary", type: FieldType(.string, isEncrypted: true), marks: []),
            IndexedField(.recordName, marks: .queryable),
            IndexedField(.createdTimestamp, marks: ordered),
            IndexedField(.createdUserRecordName, marks: .queryable),
            IndexedField(.parent, marks: .queryable),
        ])

    func save(_ songs: [Song], indexes: RecordIndexes = Self.indexes) async throws {
        try await store.write(Self.partition) { transaction in
            for song in songs {
                let old = try await transaction.records(zone: song.zone, names: [song.name])[0]
                let new = try song.stored
                transaction.set(new, zone: song.zone)
                try transaction.updateIndexes(zone: song.zone, from: old, to: new, newIndexes: indexes)
            }
        }
    }

    func delete(_ song: Song) async throws {
        try await store.write(Self.partition) { transaction in
            let old = try await transaction.records(zone: song.zone, names: [song.name])[0]
            transaction.clearRecord(zone: song.zone, name: song.name)
            try transaction.updateIndexes(zone: song.zone, from: old, to: nil, newIndexes: Self.indexes)
        }
    }

    static func plan(
        _ filters: [QueryFilter], sorts: [QuerySort] = [], indexes: RecordIndexes? = Self.indexes
    ) throws(RequestFailure) -> QueryPlan {
        try QueryPlan(
            Query(recordType: "Song", filters: filters, sorts: sorts), indexes: indexes,
            settings: QuerySettings(container: ContainerID("iCloud.com.example.songs")))
    }

    /// Every page of a query, `zone/name` for each record.
    func pages(
        _ plan: QueryPlan, zones: [UInt32] = [2], limit: Int = 100, budget: QueryBudget = QueryBudget(),
        between: (Int) async throws -> Void = { _ in }
    ) async throws -> [[String]] {
        var pages: [[String]] = []
        var position: QueryPosition?
        repeat {
            let found = try await store.read(Self.partition) { [position] view in
                var run = QueryRun(plan, in: view, budget: budget)
                return try await run.rows(zones: zones, after: position, limit: limit)
            }
            pages.append(found.rows.map { "\($0.zone)/\($0.record.name)" })
            position = try found.next.map { next in
                guard let read = QueryPosition(decoding: next.encoded) else { throw Surprise.positionLost }
                return read
            }
            if pages.count > 10_000 { throw Surprise.endless }
            try await between(pages.count)
        } while position != nil
        return pages
    }

    func names(_ filters: QueryFilter..., sorts: [QuerySort] = []) async throws -> [String] {
        try await pages(Self.plan(filters, sorts: sorts)).flatMap { $0 }.map {
            String($0.dropFirst(2))
        }
    }

    enum Surprise: Error {
        case positionLost, endless
    }
}

// MARK: Short forms

func filter(_ name: String, _ comparator: QueryFilter.Comparator, _ value: FieldValue, distance: Double? = nil)
    -> QueryFilter
{
    QueryFilter(key: .field(name), comparator: comparator, value: value, distance: distance)
}

func texts(_ values: String...) -> FieldValue { .list(.string, values.map(FieldValue.string)) }

func place(_ latitude: Double, _ longitude: Double) -> FieldValue {
    .location(LocationValue(latitude: latitude, longitude: longitude))
}
