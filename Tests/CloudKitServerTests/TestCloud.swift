import CloudKitModel
import CloudKitSchema
import CloudKitServer
import FileStore
import Foundation
import OrderedStore
import OrderedStoreSQLite
import PostgresServer
import TestEnvironment
import Testing

/// The engines that the rules are tried on.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case memory, sqlite, postgres

    static let allCases: [Self] = StoreUnderTest.isPostgres ? [.postgres] : [.memory, .sqlite]

    /// The engine of tests that do not name one.
    static let usual: Self = StoreUnderTest.isPostgres ? .postgres : .memory

    var testDescription: String { rawValue }
}

/// Runs a test on a fresh cloud with its own clock and chance.
func withCloud(
    _ engine: Engine = .usual, limits: Limits = Limits(), _ body: (TestCloud) async throws -> Void
) async throws {
    switch engine {
    case .memory: try await body(TestCloud(store: MemoryStore(epoch: 7), limits: limits))
    case .sqlite:
        let folder = FileManager.default.temporaryDirectory.appending(path: "welkin-server-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLiteStore(path: folder.appending(path: "store.db").path())
        do {
            try await body(TestCloud(store: store, files: folder.appending(path: "assets").path(), limits: limits))
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    case .postgres:
        let store = try await StoreUnderTest.postgres()
        do {
            try await body(TestCloud(store: store, limits: limits))
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }
}

/// A cloud and the words to try it with: Ada's private database in development, unless said otherwise.
struct TestCloud: Sendable {
    let store: any OrderedStore
    let files: any FileStore
    let time: TestServerEnvironment
    let cloud: Cloud

    static let container = ContainerID("iCloud.com.example.test")
    static let ada = UserID("_ada00000000000000000000000000000")
    static let bob = UserID("_bob00000000000000000000000000000")
    /// Of the password of every account.
    static let proof = [UInt8](repeating: 1, count: 32)

    /// - Parameter files: The folder of files; nil: they are kept in memory.
    init(store: any OrderedStore, files folder: String? = nil, limits: Limits = Limits()) throws {
        let time = TestServerEnvironment()
        let now: @Sendable () -> Int64 = { time.now }
        let files: any FileStore = try folder.map { try FolderFileStore($0, now: now) } ?? MemoryFileStore(now: now)
        self.init(store: store, files: files, time: time, limits: limits)
    }

    init(
        store: any OrderedStore, files: any FileStore, time: TestServerEnvironment, limits: Limits = Limits(),
        isShared: Bool = false
    ) {
        self.store = store
        self.files = files
        self.time = time
        cloud = Cloud(
            store: store, files: files, serverEnvironment: time.serverEnvironment, limits: limits, isShared: isShared)
    }

    static func address(_ scope: DatabaseScope, _ environment: CloudKitModel.Environment = .development)
        -> DatabaseAddress
    {
        DatabaseAddress(container: container, environment: environment, scope: scope)
    }

    /// Another process's view of the same store.
    func restarted(limits: Limits = Limits()) -> Cloud {
        Cloud(store: store, files: files, serverEnvironment: time.serverEnvironment, limits: limits)
    }

    @discardableResult
    func makeZone(_ name: String = "Z", of user: UserID = ada) async throws -> Zone {
        let outcome = try await ModifyZones(cloud).run(
            [.create(ZoneID(zoneName: name))], in: Self.address(.private), by: Caller(user: user))[0]
        guard case .zone(let zone) = outcome else {
            throw RequestFailure(.internalError, "no zone: \(outcome)")
        }
        return zone
    }

    @discardableResult
    func modify(
        _ operations: [RecordOperation], zone: String = "Z", atomic: Bool? = nil,
        in scope: DatabaseScope = .private, _ environment: CloudKitModel.Environment = .development,
        by caller: Caller = Caller(user: ada)
    ) async throws -> [RecordOutcome] {
        try await ModifyRecords(cloud).run(
            ModifyRecordsRequest(operations: operations, zoneID: ZoneID(zoneName: zone), atomic: atomic),
            in: Self.address(scope, environment), by: caller)
    }

    func lookup(
        _ names: [String], zone: String = "Z", desiredKeys: [String]? = nil, in scope: DatabaseScope = .private,
        by caller: Caller = Caller(user: ada)
    ) async throws -> [RecordOutcome] {
        try await LookupRecords(cloud).run(
            LookupRecordsRequest(
                records: names.map { .init(recordName: $0) }, zoneID: ZoneID(zoneName: zone), desiredKeys: desiredKeys),
            in: Self.address(scope), by: caller)
    }

    /// The record, or nil where it is not there.
    func record(_ name: String, zone: String = "Z", in scope: DatabaseScope = .private) async throws -> Record? {
        try await lookup([name], zone: zone, in: scope)[0].record
    }

    func changes(
        _ zone: String = "Z", since token: String? = nil, limit: Int? = nil, reverse: Bool = false,
        keys: [String]? = nil, types: [String]? = nil, by caller: Caller = Caller(user: ada)
    ) async throws -> ZoneChangesPage {
        let outcome = try await FetchZoneChanges(cloud).run(
            [
                ZoneChangesRequest(
                    zoneID: ZoneID(zoneName: zone), syncToken: token, resultsLimit: limit, desiredKeys: keys,
                    desiredRecordTypes: types, reverse: reverse)
            ], in: Self.address(.private), by: caller)[0]
        switch outcome {
        case .page(let page): return page
        case .failed(_, let failure): throw failure
        }
    }

    func databaseChanges(since token: String? = nil, limit: Int? = nil) async throws -> DatabaseChangesPage {
        try await FetchDatabaseChanges(cloud).run(
            DatabaseChangesRequest(syncToken: token, resultsLimit: limit), in: Self.address(.private),
            by: Caller(user: Self.ada))
    }
}

// MARK: Short forms of values

func text(_ name: String, _ value: String) -> FieldChange {
    .set(Field(name: name, type: .string, json: Array("\"\(value)\"".utf8)))
}

func number(_ name: String, _ value: Int) -> FieldChange {
    .set(Field(name: name, type: .int64, json: Array("\(value)".utf8)))
}

func reference(_ name: String, to target: String, _ action: ReferenceValue.Action = .none) -> FieldChange {
    .set(
        Field(
            name: name, type: .reference,
            json: Array(#"{"recordName":"\#(target)","action":"\#(action.rawValue)"}"#.utf8)))
}

func create(
    _ name: String?, _ type: String = "Note", _ fields: FieldChange..., parent: ParentChange = .keep
) -> RecordOperation {
    RecordOperation(.create, RecordChange(recordName: name, recordType: type, fields: fields, parent: parent))
}

func save(
    _ kind: RecordOperation.Kind, _ name: String, _ type: String? = "Note", tag: ChangeTag? = nil,
    _ fields: FieldChange..., parent: ParentChange = .keep
) -> RecordOperation {
    RecordOperation(
        kind, RecordChange(recordName: name, recordType: type, fields: fields, changeTag: tag, parent: parent))
}

func save(_ kind: RecordOperation.Kind, _ name: String, tag: ChangeTag? = nil, _ first: FieldChange) -> RecordOperation
{
    RecordOperation(kind, RecordChange(recordName: name, recordType: "Note", fields: [first], changeTag: tag))
}

func delete(_ name: String) -> RecordOperation {
    RecordOperation(.forceDelete, RecordChange(recordName: name))
}

extension RecordOutcome {
    var record: Record? { if case .record(let record) = self { record } else { nil } }
    var failure: RequestFailure? { if case .failed(_, let failure) = self { failure } else { nil } }
    var code: RequestFailure.Code? { failure?.code }
    var isDeleted: Bool { if case .deleted = self { true } else { false } }
}

extension ZoneOutcome {
    var zone: Zone? { if case .zone(let zone) = self { zone } else { nil } }
    var failure: RequestFailure? { if case .failed(_, let failure) = self { failure } else { nil } }
    var isDeleted: Bool { if case .deleted = self { true } else { false } }
}

extension RecordChangeEvent {
    /// The name of the changed item, with a cross for a deletion.
    var mark: String {
        switch self {
        case .changed(let record): record.id.recordName
        case .deleted(let tombstone): "†" + tombstone.recordName
        }
    }
}

extension ZoneChangeEvent {
    var mark: String {
        switch self {
        case .changed(let id, _): id.zoneName
        case .deleted(let id, let reason): "†\(id.zoneName) \(reason.rawValue)"
        }
    }
}

extension Record {
    /// The text of a field, as JSON.
    func json(_ name: String) -> String? {
        fields.first { $0.name == name }.map { String(decoding: $0.json, as: UTF8.self) }
    }
}

/// The failure that `body` throws.
func failure(_ body: () async throws -> Void) async -> RequestFailure? {
    do {
        try await body()
        return nil
    } catch {
        return error as? RequestFailure
    }
}

/// Expects `body` to fail as a whole.
func expect(
    _ code: RequestFailure.Code, at location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
    let failure = await failure(body)
    #expect(failure?.code == code, sourceLocation: location)
}
