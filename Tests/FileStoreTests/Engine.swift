import FileStore
import FileStoreRows
import FileStoreS3
import Foundation
import HTTPTransfer
import ObjectServer
import OrderedStore
import OrderedStorePostgres
import OrderedStoreSQLite
import PostgresServer
import Synchronization
import Testing

/// The engines that every test of the suite runs on.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case memory, folder
    /// Rows of a store in memory, in SQLite and in PostgreSQL.
    case rows, sqlite, postgres
    /// Objects of a service in memory, and of OpenStack Swift.
    case objects, swift

    /// Without the servers that are not installed; `FileServerTests` say so.
    static let allCases: [Self] =
        [.memory, .folder, .rows, .sqlite, .objects] + (PostgresServer.missing == nil ? [.postgres] : [])
        + (ObjectServer.missing == nil ? [.swift] : [])

    var testDescription: String { rawValue }

    /// Whether the times of files are those of the clock.
    var keepsTime: Bool { self != .swift }

    func withStore(_ body: (any FileStore, Clock) async throws -> Void) async throws {
        try await withStores { open, clock in try await body(try await open(), clock) }
    }

    /// Runs `body` with a function that opens the same files again, as another process would.
    func withStores(
        _ body: (_ open: () async throws -> any FileStore, Clock) async throws -> Void
    ) async throws {
        let clock = Clock()
        switch self {
        case .memory:
            let store = MemoryFileStore(now: { clock.now })
            try await body({ store }, clock)
        case .folder:
            try await withFolder { folder in
                try await body({ try FolderFileStore(folder + "/files", now: { clock.now }) }, clock)
            }
        case .rows:
            let store = MemoryStore(epoch: 7)
            try await body({ RowFileStore(store, now: { clock.now }) }, clock)
        case .sqlite:
            try await withFolder { folder in
                let store = try SQLiteStore(path: folder + "/store.db")
                try await closing(store) { try await body({ RowFileStore(store, now: { clock.now }) }, clock) }
            }
        case .postgres:
            try await withPostgresStore { store, _ in
                try await body({ RowFileStore(store, now: { clock.now }) }, clock)
            }
        case .objects:
            let service = ObjectService(now: { clock.now })
            try await body({ service.store(clock) }, clock)
        case .swift:
            let prefix = UUID().uuidString
            let server = try await ObjectServer.shared()
            try await body({ try server.store(prefix: prefix) }, clock)
        }
    }
}

extension ObjectService {
    /// Files in this service, in objects of a few bytes.
    func store(_ clock: Clock) -> S3FileStore {
        var sizes = S3FileStore.Sizes()
        (sizes.segmentBytes, sizes.partBytesMin) = (8, 5)
        return S3FileStore(
            try! S3Place("s3://files/some/where"),  // A place that is one.
            settings: try! S3Settings(endpoint: "http://127.0.0.1:1", region: nil, accessKey: "A", secretKey: "hidden"),
            connection: S3FileStore.Connection(now: { clock.now }, sleep: { _ in }, random: { 0 }) {
                try await self.send($0)
            },
            sizes: sizes)
    }
}

extension ObjectServer {
    private static let client = HTTPClient(requestsPerOriginMax: 16)

    /// Files in this server.
    func store(prefix: String, secretKey: String = ObjectServer.secretKey, isPublic: Bool = false) throws -> S3FileStore
    {
        S3FileStore(
            try S3Place("s3://\(Self.bucket)/\(prefix)"),
            settings: try S3Settings(
                endpoint: endpoint, publicEndpoint: isPublic ? endpoint : nil, region: nil,
                accessKey: Self.accessKey, secretKey: secretKey),
            connection: S3FileStore.Connection(
                now: { Int64(Date().timeIntervalSince1970 * 1000) }, send: { try await Self.client.send($0) }))
    }
}

/// Runs `body` with a store in a schema of its own, and the name of the schema.
func withPostgresStore(_ body: (PostgresStore, String) async throws -> Void) async throws {
    let schema = PostgresServer.freshSchema()
    let server = try await PostgresServer.shared()
    var options = try PostgresStore.Options(PostgresConfiguration(server.address(schema: schema)), wallClock: { 0 })
    (options.writersMax, options.readersMax, options.exchangesHints) = (4, 2, false)
    let store = try await PostgresStore.open(options)
    try await closing(store) { try await body(store, schema) }
}

private func closing(_ store: any PersistentStore, _ body: () async throws -> Void) async throws {
    do {
        try await body()
        await store.close()
    } catch {
        await store.close()
        throw error
    }
}
/// A folder that is gone afterwards.
func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "file-store-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.path())
}

/// Stands still until it is moved.
final class Clock: Sendable {
    private let time = Atomic<Int64>(1_700_000_000_123)

    var now: Int64 { time.load(ordering: .relaxed) }

    func advance(_ milliseconds: Int64) { time.add(milliseconds, ordering: .relaxed) }
}

/// Returns an id that ends in `last`, which determines its folder.
func id(_ first: UInt8, last: UInt8 = 7) -> FileID { FileID(bytes: [first, 2, 3, 4, 5, 6, 7, 8, last])! }

/// Expects that `body` throws a `FileStoreError` with `code`.
func expect(
    _ code: FileStoreError.Code, _ location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
    do {
        try await body()
        Issue.record("no error, expected \(code)", sourceLocation: location)
    } catch {
        #expect((error as? FileStoreError)?.code == code, "\(error)", sourceLocation: location)
    }
}
