import CloudKitRecordLayer

/// The store of a cloud's accounts, sessions, tokens and keys, with the environment that their rules depend on.
///
/// Each kind of row has its own type for working with it, such as `accounts` or `apiTokens`.
package struct AccountStore: Sendable {
    /// The partition of the rows; transactions of other partitions that read them name this one, too.
    package let partition = Self.partition
    package static let partition = StoragePartition("accounts")
    /// The time, randomness and secret.
    package let serverEnvironment: ServerEnvironment
    /// The keys of the directory, shared by all copies.
    let directorySecrets: LazyDirectorySecrets
    /// Whether other processes may serve the same store: what is counted is counted in the store then.
    package let isShared: Bool
    /// Whether invitations and look-ups by e-mail address find only accounts whose address is proved: where the cloud sends mail.
    package let requiresProvedAddresses: Bool
    private let storage: Storage

    /// - Parameters:
    ///   - storage: Of the whole cloud.
    ///   - isShared: Whether other processes may serve the same store.
    ///   - requiresProvedAddresses: Whether e-mail addresses count only where they are proved.
    package init(
        _ storage: Storage, _ serverEnvironment: ServerEnvironment, isShared: Bool = false,
        requiresProvedAddresses: Bool = false
    ) {
        self.requiresProvedAddresses = requiresProvedAddresses
        self.storage = storage
        self.isShared = isShared
        directorySecrets = LazyDirectorySecrets(secret: serverEnvironment.secret)
        self.serverEnvironment = serverEnvironment
    }

    /// Reads rows that belong together.
    package func read<Value: Sendable>(
        _ body: @Sendable (inout StorageReader) async throws -> Value
    ) async throws -> Value {
        try await storage.read(partition, body)
    }

    /// Reads and changes rows; either every change takes effect or none does. The body may run more than once.
    package func write<Value: Sendable>(
        _ body: @Sendable (inout StorageWriter) async throws -> Value
    ) async throws -> Value {
        try await storage.write([partition], body)
    }

    /// Reads rows of another of the cloud's own partitions.
    func read<Value: Sendable>(
        _ other: StoragePartition, _ body: @Sendable (StorageReader) async throws -> Value
    ) async throws -> Value {
        try await storage.read(other) { try await body($0) }
    }

    /// Reads and changes rows together with another of the cloud's own partitions.
    func write<Value: Sendable>(
        with other: StoragePartition, _ body: @Sendable (inout StorageWriter) async throws -> Value
    ) async throws -> Value {
        try await storage.write([partition, other], body)
    }

    /// Whether there is nothing: no account, no token, no key.
    package func isEmpty() async throws -> Bool { try await read { try await $0.isWithoutRows() } }

    /// Reads from the store, and throws the engine's error where that is impossible.
    package func checkIsReadable() async throws {
        _ = try await read { try await $0.get(Array("health".utf8)) }
    }
}

extension StorageView {
    /// Returns whether the partition holds no row of a table.
    package func isWithoutRows() async throws -> Bool {
        try await scan(StorageKeyRange(lower: [], upper: [0x7F]), limit: 1).isEmpty
    }
}

extension RowTable {
    /// Returns the row under `key`, or nil where there is none.
    func row(_ key: Key, in store: AccountStore) async throws -> Row? {
        try await store.read { try await row(key, in: $0) }
    }

    /// Returns every row, in the order of the keys.
    func rows(in store: AccountStore) async throws -> [Row] {
        try await store.read { try await rows(in: $0) }
    }

    /// Stores a row, in place of the one under `key`.
    func set(_ key: Key, to row: Row, in store: AccountStore) async throws {
        try await store.write { try set(key, to: row, in: &$0) }
    }
}

extension RowTable where Key == OwnedRowKey {
    /// Returns the rows of one owner with their names, in the order of the names.
    func rows(of owner: String, in store: AccountStore) async throws -> [(name: String, row: Row)] {
        try await store.read { try await rows(of: owner, in: $0) }
    }
}
