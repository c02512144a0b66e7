import Foundation
import OrderedStore
import OrderedStoreSQLite
import PostgresServer
import Synchronization
import Testing

@testable import OrderedStorePostgres

/// The engines that every test of the engine suite runs on.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case memory, sqlite, postgres

    /// Without PostgreSQL where it is not installed; `PostgresStoreTests` say so.
    static let allCases: [Self] = [.memory, .sqlite] + (PostgresServer.missing == nil ? [.postgres] : [])

    var testDescription: String { rawValue }

    func withStore(_ body: (any OrderedStore) async throws -> Void) async throws {
        switch self {
        case .memory: try await body(MemoryStore(epoch: 7))
        case .sqlite:
            try await withFolder { folder in
                let store = try SQLiteStore(path: folder + "/store.db")
                do {
                    try await body(store)
                    await store.close()
                } catch {
                    await store.close()
                    throw error
                }
            }
        case .postgres: try await withPostgresStore { try await body($0) }
        }
    }
}

/// The options of a store in a schema of its own, with few connections.
func postgresOptions(
    schema: String = PostgresServer.freshSchema(), on server: PostgresServer? = nil
) async throws -> PostgresStore.Options {
    let server = if let server { server } else { try await PostgresServer.shared() }
    var options = try PostgresStore.Options(PostgresConfiguration(server.address(schema: schema)), wallClock: { 0 })
    options.writersMax = 4
    options.readersMax = 2
    return options
}

/// A store in a schema of its own, or with the options given.
func withPostgresStore(
    schema: String = PostgresServer.freshSchema(), _ options: PostgresStore.Options? = nil,
    _ body: (PostgresStore) async throws -> Void
) async throws {
    let usual = try await postgresOptions(schema: schema)
    let store = try await PostgresStore.open(options ?? usual)
    do {
        try await body(store)
        await store.close()
    } catch {
        await store.close()
        throw error
    }
}

/// A folder that is gone afterwards.
func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "ordered-store-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.path())
}

let home = Partition("home")
let other = Partition("other")

func bytes(_ string: String) -> Bytes { Bytes(string.utf8) }

/// A range between two strings.
func range(_ lower: String, _ upper: String) -> KeyRange { KeyRange(lower: bytes(lower), upper: bytes(upper)) }

/// The whole of a partition.
let everything = KeyRange(lower: [], upper: Bytes(repeating: 0xFF, count: 64))

extension [Entry] {
    var keys: [String] { map { String(decoding: $0.key, as: UTF8.self) } }
}

extension OrderedStore {
    func put(_ entries: [String: String], in partition: Partition = home) async throws {
        try await write(partition) { transaction in
            for (key, value) in entries { transaction.set(bytes(key), bytes(value)) }
        }
    }

    func value(_ key: String, in partition: Partition = home) async throws -> String? {
        try await read(partition) { try await $0.get(bytes(key)) }.map { String(decoding: $0, as: UTF8.self) }
    }

    func all(in partition: Partition = home) async throws -> [Entry] {
        try await read(partition) { try await $0.scan(everything, limit: .max) }
    }
}

/// Opens once; who comes before waits.
actor Latch {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func open() {
        isOpen = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    func wait() async {
        if !isOpen { await withCheckedContinuation { waiting.append($0) } }
    }
}

/// A value that several tasks change.
final class Shared<Value: Sendable>: Sendable {
    private let held: Mutex<Value>

    init(_ value: Value) { held = Mutex(value) }

    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        held.withLock { value in body(&value) }
    }
}

struct Refusal: Error, Hashable {}

/// Expects that `body` throws a `StoreError` with `code`.
func expect(
    _ code: StoreError.Code, _ location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
    do {
        try await body()
        Issue.record("no error, expected \(code)", sourceLocation: location)
    } catch {
        #expect((error as? StoreError)?.code == code, "\(error)", sourceLocation: location)
    }
}
