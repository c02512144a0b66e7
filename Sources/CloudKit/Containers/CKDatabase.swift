import CloudKitClient
import CloudKitDevice
import CloudKitModel
import Foundation

/// One of a container's databases: public, private or shared (B-DB-01).
///
/// Convenience functions are user-initiated: they fail fast instead of waiting for a better network (B-OPS-04).
public final class CKDatabase: NSObject, Sendable {
    /// Which of the databases; raw values are part of the interface.
    public enum Scope: Int, Sendable {
        case `public` = 1
        case `private` = 2
        case shared = 3
    }

    let connection: ContainerConnection
    /// The container's queue.
    private let operations: OperationQueue
    let scope: DatabaseScope
    private let defaults: CallDefaults

    init(
        connection: ContainerConnection, operations: OperationQueue, scope: DatabaseScope, defaults: CallDefaults
    ) {
        self.connection = connection
        self.operations = operations
        self.scope = scope
        self.defaults = defaults
        super.init()
    }

    /// The kind of the database: private, public or shared.
    public var databaseScope: Scope {
        switch scope {
        case .public: .public
        case .private: .private
        case .shared: .shared
        }
    }

    /// A textual form of the value, for logs and debugging.
    public override var description: String {
        "<CKDatabase: \(addressText(of: self)); containerIdentifier=\(connection.identifier ?? "(null)"), "
            + "databaseScope=\(databaseScope)>"
    }

    /// Starts an operation on this database.
    ///
    /// Operations are single-use: adding one a second time has no effect (B-OPS-03).
    public func add(_ operation: CKDatabaseOperation) {
        operation.enqueue(on: operations) { operation.database = self }
    }

    /// Hands out a database whose convenience functions use this configuration and group.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKDatabase) throws -> R
    ) rethrows -> R {
        try body(
            CKDatabase(
                connection: connection, operations: operations, scope: scope,
                defaults: CallDefaults(configuration, group)))
    }

    /// Hands out a database whose convenience functions use this configuration and group.
    ///
    /// The closure may be `@Sendable`, isolated to an actor or neither, and its result need not be `Sendable`.
    @discardableResult @preconcurrency
    nonisolated(nonsending) public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKDatabase) async throws -> R
    ) async rethrows -> R {
        try await body(
            CKDatabase(
                connection: connection, operations: operations, scope: scope,
                defaults: CallDefaults(configuration, group)))
    }

    /// Returns the database with calls that belong to a group of operations and are for the user of an account alone.
    func configured(_ group: CKOperationGroup?, for account: AccountState?) -> CKDatabase {
        CKDatabase(
            connection: connection, operations: operations, scope: scope, defaults: CallDefaults(nil, group, account))
    }

    /// The way to the cloud for one convenience call.
    func requests() -> DatabaseRequests {
        DatabaseRequests(connection: connection, scope: scope, settings: defaults.settings())
    }

    /// Starts the operation behind a completion handler.
    func start(_ operation: CKDatabaseOperation) {
        defaults.apply(to: operation)
        add(operation)
    }
}
