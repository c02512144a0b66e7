import CloudKitClient
import Foundation

/// The base of the operations that work on one database.
// Restates what `Operation` declares, see `CKOperation`.
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {
    /// The database to work on; without one it is the private database of the operation's container, or of the default
    /// container (B-DB-15).
    open var database: CKDatabase?

    private final var chosenDatabase: CKDatabase {
        database ?? (chosenSettings.container ?? .default()).privateCloudDatabase
    }

    override final var connection: ContainerConnection { chosenDatabase.connection }

    override final var longLivedPlace: (connection: ContainerConnection, scope: CKDatabase.Scope)? {
        (chosenDatabase.connection, chosenDatabase.databaseScope)
    }

    /// The way to that database, with this operation's settings.
    final func requests() -> DatabaseRequests {
        let database = chosenDatabase
        return DatabaseRequests(
            connection: database.connection, scope: database.scope, settings: callSettings(), longLivedRun: longLivedRun
        )
    }
}
