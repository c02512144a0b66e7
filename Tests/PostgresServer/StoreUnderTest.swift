import Foundation
import OrderedStore
import OrderedStorePostgres

/// The store of clouds in tests that would otherwise keep theirs in memory: with `WELKIN_TEST_STORE=postgres` in the environment
/// each has a schema of its own in a PostgreSQL server of the tests.
package enum StoreUnderTest {
    /// Whether clouds in tests use PostgreSQL.
    package static let isPostgres = ProcessInfo.processInfo.environment["WELKIN_TEST_STORE"] == "postgres"

    /// Returns an empty store of the kind chosen; nil: the test's own. Closed by the caller.
    package static func chosen() async throws -> (any PersistentStore)? {
        isPostgres ? try await postgres() : nil
    }

    /// Returns an empty store on PostgreSQL, or the one of a schema.
    package static func postgres(
        schema: String = PostgresServer.freshSchema(), exchangesHints: Bool = false
    ) async throws -> any PersistentStore {
        let server = try await PostgresServer.shared()
        var options = try PostgresStore.Options(
            PostgresConfiguration(server.address(schema: schema)),
            wallClock: { Int64(Date().timeIntervalSince1970 * 1000) })
        options.writersMax = 4
        options.readersMax = 2
        options.exchangesHints = exchangesHints
        return try await PostgresStore.open(options)
    }
}
