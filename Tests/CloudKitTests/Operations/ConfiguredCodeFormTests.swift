import ScriptedCloud
import Testing

@testable import CloudKit

/// The closures and functions that apps pass to `configuredWith`: each compiles and runs.
@Suite(.timeLimit(.minutes(20))) struct ConfiguredCodeFormTests {
    /// A result that cannot cross from one actor to another.
    final class Counter {
        var count = 0
    }

    private static func count(in database: CKDatabase) async throws -> Counter {
        let counter = Counter()
        counter.count = try await database.records(for: [CKRecord.ID(recordName: "a")]).count
        return counter
    }

    @Sendable private static func countAnywhere(in database: CKDatabase) async throws -> Counter {
        try await count(in: database)
    }

    private static func forwarding<R>(
        to database: CKDatabase, _ body: @Sendable (CKDatabase) async throws -> R
    ) async throws -> R {
        try await database.configuredWith(body: body)
    }

    private static func forwardingContainer<R>(
        to container: CKContainer, _ body: (CKContainer) async throws -> R
    ) async throws -> R {
        try await container.configuredWith(body: body)
    }

    private static func container() -> CKContainer { .scripted(ScriptedTransport(ScriptedTransport.findsAll)) }

    @Test func `A function and a Sendable closure with a result that is not Sendable`() async throws {
        let database = Self.container().privateCloudDatabase
        #expect(try await database.configuredWith(body: Self.count).count == 1)
        #expect(try await database.configuredWith(body: Self.countAnywhere).count == 1)
        let closure: @Sendable (CKDatabase) async throws -> Counter = { try await Self.count(in: $0) }
        #expect(try await database.configuredWith(body: closure).count == 1)
    }

    @Test func `A generic result, in a function of the app's own`() async throws {
        let container = Self.container()
        let database = container.privateCloudDatabase
        #expect(try await Self.forwarding(to: database) { try await Self.count(in: $0).count } == 1)
        let counter = try await Self.forwardingContainer(to: container) {
            try await Self.count(in: $0.privateCloudDatabase)
        }
        #expect(counter.count == 1)
    }

    @MainActor
    @Test func `A closure of the main actor that captures what is not Sendable`() async throws {
        let database = Self.container().privateCloudDatabase
        let total = Counter()
        let found = try await database.configuredWith { database in
            total.count += try await database.records(for: [CKRecord.ID(recordName: "a")]).count
            return total.count
        }
        #expect(found == 1 && total.count == 1)
    }
}
