import CloudKitRecordLayer

/// One of the cloud's own books, such as its accounts: few and small entries under keys of text.
package struct Book: Sendable {
    /// Where the book lies; transactions of other partitions that read it name this one, too.
    let partition: StoragePartition
    private let storage: Storage

    package init(_ name: String, in storage: Storage) {
        self.partition = StoragePartition(name)
        self.storage = storage
    }

    /// Accounts, sessions, tokens and keys of a whole cloud.
    package static func accounts(in storage: Storage) -> Book { Book("accounts", in: storage) }

    /// The entry under `key`.
    package func get(_ key: String) async throws -> [UInt8]? {
        try await storage.read(partition) { try await $0.get(Array(key.utf8)) }
    }

    /// The same, in a transaction that names the book's partition.
    func get(_ key: String, in transaction: StorageWriter) async throws -> [UInt8]? {
        try await transaction.get(Array(key.utf8), in: partition)
    }

    /// Every entry whose key begins with `prefix`, in key order.
    ///
    /// - Parameter prefix: Not empty.
    package func entries(prefix: String) async throws -> [(key: String, value: [UInt8])] {
        try await storage.read(partition) { transaction in
            try await transaction.scan(.init(prefix: Array(prefix.utf8)), limit: .max, reverse: false)
                .map { (String(decoding: $0.key, as: UTF8.self), $0.value) }
        }
    }

    /// Reads and changes entries, all or nothing. The body may run more than once.
    package func change<Value: Sendable>(
        _ body: @Sendable (inout Page) async throws -> Value
    ) async throws -> Value {
        try await storage.write([partition]) { transaction in
            var page = Page(transaction: transaction)
            let value = try await body(&page)
            transaction = page.transaction
            return value
        }
    }

    /// The book while it is being changed.
    package struct Page: Sendable {
        fileprivate var transaction: StorageWriter

        package func get(_ key: String) async throws -> [UInt8]? {
            try await transaction.get(Array(key.utf8))
        }

        package func entries(prefix: String) async throws -> [(key: String, value: [UInt8])] {
            try await transaction.scan(.init(prefix: Array(prefix.utf8)), limit: .max, reverse: false)
                .map { (String(decoding: $0.key, as: UTF8.self), $0.value) }
        }

        package mutating func set(_ key: String, to value: [UInt8]) {
            transaction.set(Array(key.utf8), value)
        }

        package mutating func clear(_ key: String) {
            transaction.clear(Array(key.utf8))
        }
    }
}
