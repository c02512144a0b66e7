import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema
import Synchronization

/// The shapes of the requests that each container and environment has served, without any value: what a deployment must not break.
///
/// A shape is stored once. A container and environment keeps at most 2000; later ones are not noted.
final class ServedRequestLog: Sendable {
    private let store: Storage
    private let known = Mutex<[StoragePartition: Set<String>]>([:])
    /// Saves of which every shape is known, so that the next one like them needs no rows.
    private let knownSaves = Mutex<[StoragePartition: Set<SaveSignature>]>([:])
    static let table = RowTable<String, ServedRequestRow>("request")
    private static let shapesMax = 2000

    /// Returns the time by a clock that is never set back; nil: no other process serves the store.
    private let sharedUptime: (@Sendable () -> Duration)?
    private let readAt = Mutex(Duration.zero)
    /// The time for which the shapes in the store are remembered where another node may have forgotten them.
    private static let sharedLifetime = Duration.seconds(60)

    init(store: Storage, sharedUptime: (@Sendable () -> Duration)? = nil) {
        self.store = store
        self.sharedUptime = sharedUptime
    }

    /// Forgets the remembered shapes from time to time where there are several nodes.
    private func refresh() {
        guard let now = sharedUptime?() else { return }
        let isDue = readAt.withLock { readAt in
            guard now - readAt >= Self.sharedLifetime else { return false }
            readAt = now
            return true
        }
        guard isDue else { return }
        known.withLock { $0.removeAll(keepingCapacity: true) }
        knownSaves.withLock { $0.removeAll(keepingCapacity: true) }
    }

    /// Notes a query that was answered, or refused for want of an index.
    func note(_ query: Query, in place: DatabaseContext) async {
        refresh()
        await note(
            [ServedRequestRow(QueryShape(query))],
            in: .servedRequests(place.address.container, place.address.environment))
    }

    /// Notes the saves of a batch that took effect. Those of production are not noted: its schema stays.
    func note(
        _ items: [IncomingChange], _ outcomes: [RecordOutcome], _ schema: Schema, in place: DatabaseContext
    ) async {
        guard place.address.environment == .development else { return }
        let partition = StoragePartition.servedRequests(place.address.container, place.address.environment)
        refresh()
        let known = knownSaves.withLock { $0[partition] ?? [] }
        var fresh: Set<SaveSignature> = []
        // Most records of a batch are like the one before them.
        var last: SaveSignature?
        for (item, outcome) in zip(items, outcomes) {
            guard case .record(let record) = outcome, !item.kind.isDelete else { continue }
            if let last, last.isSurely(of: record.recordType, item.fields) { continue }
            let signature = SaveSignature(
                recordType: record.recordType, fields: item.fields, defined: schema[record.recordType]?.fields)
            if !known.contains(signature) { fresh.insert(signature) }
            last = signature
        }
        if fresh.isEmpty { return }
        guard await note(fresh.flatMap(\.rows), in: partition) else { return }
        knownSaves.withLock { known in
            let held = known[partition] ?? []
            known[partition] = held.count < Self.shapesMax ? held.union(fresh) : fresh
        }
    }

    /// A request is served whether or not its shape can be noted.
    ///
    /// - Returns: Whether the rows need not be tried again.
    @discardableResult
    private func note(_ rows: [ServedRequestRow], in partition: StoragePartition) async -> Bool {
        let new = known.withLock { known in rows.filter { known[partition]?.contains($0.key) != true } }
        if new.isEmpty { return true }
        let keys = try? await store.write(partition) { transaction in
            var keys = Set(try await Self.table.rows(in: transaction).map(\.key))
            for row in new where keys.count < Self.shapesMax && keys.insert(row.key).inserted {
                try Self.table.set(row.key, to: row, in: &transaction)
            }
            return keys
        }
        guard let keys else { return false }
        // Also those beyond the bound, so that they are not tried again and again; few enough to hold.
        known.withLock { known in
            let held = (known[partition] ?? []).union(keys)
            known[partition] = held.count < 2 * Self.shapesMax ? held.union(new.map(\.key)) : held
        }
        return true
    }

    /// Returns the shapes that a container and environment has served.
    func served(_ container: ContainerID, _ environment: Environment) async throws -> ServedRequests {
        let rows = try await store.read(.servedRequests(container, environment)) {
            try await Self.table.rows(in: $0)
        }
        return ServedRequests(
            saves: Set(rows.compactMap(\.save)), queries: Set(rows.compactMap(\.query)))
    }

    /// Forgets what a container and environment has served.
    func forget(_ container: ContainerID, _ environment: Environment) async throws {
        let partition = StoragePartition.servedRequests(container, environment)
        try await store.write(partition) { transaction in
            for row in try await Self.table.rows(in: transaction) { Self.table.clear(row.key, in: &transaction) }
        }
        known.withLock { $0[partition] = nil }
        knownSaves.withLock { $0[partition] = nil }
    }
}

/// The type and the fields of a save, by which one like it is recognised without its rows.
private struct SaveSignature: Hashable, Sendable {
    private let recordType: String
    private let names: [String]
    private let types: [FieldType]

    init(recordType: String, fields: [Field], defined: [String: FieldDefinition]?) {
        self.recordType = recordType
        names = fields.map { $0.name }
        types = fields.map { defined?[$0.name]?.type ?? $0.type.definite }
    }

    /// Returns whether a save has this signature, which is sure if its fields have these names and types.
    func isSurely(of recordType: String, _ fields: [Field]) -> Bool {
        guard recordType == self.recordType, fields.count == names.count else { return false }
        return fields.indices.allSatisfy { fields[$0].name == names[$0] && fields[$0].type == types[$0] }
    }

    /// The shapes of the save: its type, and each field of it.
    var rows: [ServedRequestRow] {
        [ServedRequestRow(SaveShape(recordType: recordType))]
            + zip(names, types).map {
                ServedRequestRow(SaveShape(recordType: recordType, field: $0, type: $1))
            }
    }
}

extension StoragePartition {
    /// The shapes of the requests that one container and environment has served.
    static func servedRequests(_ container: ContainerID, _ environment: Environment) -> StoragePartition {
        StoragePartition("served/\(container.name)/\(environment.rawValue)")
    }
}

/// The stored form of one shape. The names of the properties are stored: they never change.
struct ServedRequestRow: StoredRow, Hashable {
    private var recordType: String
    private var field: String?
    /// Base, list and encryption, as in stored record types.
    private var type: [UInt8]?
    /// Pairs of key and comparator; nil for a save.
    private var filters: [[String]]?
    private var sorts: [String]?

    init(_ shape: SaveShape) {
        recordType = shape.recordType
        field = shape.field
        type = shape.type.map { [$0.base.rawValue, $0.isList ? 1 : 0, $0.isEncrypted ? 1 : 0] }
    }

    init(_ shape: QueryShape) {
        recordType = shape.recordType
        filters = shape.filters.map { [$0.key.schemaName, $0.comparator.rawValue] }
        sorts = shape.sorts.map(\.schemaName)
    }

    /// The text that tells shapes apart.
    var key: String {
        if let filters {
            return
                "query/\(recordType)/\(filters.joined().joined(separator: "/"))//\((sorts ?? []).joined(separator: "/"))"
        }
        return "save/\(recordType)/\(field ?? "")/" + (type ?? []).map(String.init).joined(separator: ".")
    }

    var save: SaveShape? {
        guard filters == nil else { return nil }
        guard let type, type.count == 3, let base = FieldType.Base(rawValue: type[0]) else {
            return SaveShape(recordType: recordType)
        }
        return SaveShape(
            recordType: recordType, field: field,
            type: FieldType(base, isList: type[1] == 1, isEncrypted: type[2] == 1))
    }

    var query: QueryShape? {
        guard let filters else { return nil }
        let read = filters.compactMap { pair -> QueryShape.Filter? in
            guard pair.count == 2, let comparator = QueryFilter.Comparator(rawValue: pair[1]) else { return nil }
            return QueryShape.Filter(Self.key(pair[0]), comparator)
        }
        return QueryShape(recordType: recordType, filters: read, sorts: (sorts ?? []).map(Self.key))
    }

    /// Names of fields do not begin with an underscore (B-LIM-12).
    private static func key(_ text: String) -> QueryKey {
        if text.isEmpty { return .anySearchable }
        return QueryKey.SystemField(schemaName: text).map { .system($0) } ?? .field(text)
    }
}
