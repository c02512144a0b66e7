import OrderedStore

/// Sees to it that a database holds a store of this version, making its tables if it holds none.
struct StoreOpening {
    let options: PostgresStore.Options

    private var configuration: PostgresConfiguration { options.configuration }

    /// - Returns: The identity of the store.
    /// - Throws: `StoreError`.
    func run() async throws -> StoreIdentity {
        var policy = TransactionRetry(awayMax: options.awayMax)
        while true {
            do {
                return try await attempt()
            } catch let failure as PostgresFailure {
                switch policy.next(after: failure, at: options.now(), chance: options.random()) {
                case .giveUp: throw failure.error
                case .again(let pause): if pause > .zero { try await options.sleep(pause) }
                }
            }
        }
    }

    private func attempt() async throws -> StoreIdentity {
        let connection = try await PostgresConnection.open(configuration, options)
        defer { connection.close() }
        return try await withTaskExecutorPreference(connection.thread) {
            let result: Result<StoreIdentity, PostgresFailure> = connection.use { session in
                do throws(PostgresFailure) { return .success(try prepare(&session)) } catch { return .failure(error) }
            }
            return try result.get()
        }
    }

    private func prepare(_ session: inout PostgresSession) throws(PostgresFailure) -> StoreIdentity {
        let tables = try self.tables(&session)
        if tables.contains(PostgresTable.store.rawValue) {
            if let identity = try session.identity() { return identity }
        } else {
            let own = Set(PostgresTable.allCases.map(\.rawValue))
            guard tables.isSubset(of: own) else { throw .refused(.foreignSchema(configuration.details)) }
            try create(&session)
        }
        if try hasEntries(&session) { throw .refused(.missingIdentity(configuration.details)) }
        try session.run(
            PostgresRequest(
                .addIdentity, .integer(PostgresTable.format), .integer(Int64(bitPattern: options.random())),
                .integer(Int64(bitPattern: options.random()))))
        // Perhaps another process was quicker.
        guard let identity = try session.identity() else {
            throw .refused(.missingIdentity(configuration.details))
        }
        return identity
    }

    private func tables(_ session: inout PostgresSession) throws(PostgresFailure) -> Set<String> {
        var names: Set<String> = []
        try session.exchange([PostgresRequest(.tables, .text(configuration.schema))]) { _, answer in
            names = Set((0..<answer.rowCount).map { String(decoding: answer.bytes($0, 0), as: UTF8.self) })
        }
        return names
    }

    private func hasEntries(_ session: inout PostgresSession) throws(PostgresFailure) -> Bool {
        var count = 0
        try session.exchange([PostgresRequest(.anyEntry)]) { _, answer in count = answer.rowCount }
        return count > 0
    }

    /// Makes the tables one by one: not every engine makes several in one transaction. The store's own comes last.
    private func create(_ session: inout PostgresSession) throws(PostgresFailure) {
        let order: [PostgresStatement] =
            [.createSchema] + [PostgresTable.partitions, .entries, .requests, .store].map { .create($0) }
        for statement in order {
            do throws(PostgresFailure) {
                try session.run(PostgresRequest(statement))
            } catch {
                guard Self.alreadyThere.contains(error.error.details["sqlstate"] ?? "") else { throw error }
            }
        }
        // Engines that store values in another way refuse it, and need it not.
        try? session.run(PostgresRequest(.storeApart))
    }

    /// The errors of a process that makes the same thing at the same time as another one.
    private static let alreadyThere: Set<String> = ["42P07", "42P06", "23505", "42710"]
}

extension PostgresSession {
    /// Reads the row of the store; nil if there is none.
    ///
    /// - Throws: `refused` for a store of another program or version.
    mutating func identity() throws(PostgresFailure) -> StoreIdentity? {
        var row: (application: Bytes, format: Int64, epoch: Int64, salt: Int64)?
        var isMalformed = false
        do throws(PostgresFailure) {
            try exchange([PostgresRequest(.identity)]) { _, answer in
                guard answer.rowCount == 1 else { return }
                guard let format = answer.integer(0, 1), let epoch = answer.integer(0, 2),
                    let salt = answer.integer(0, 3)
                else {
                    isMalformed = true
                    return
                }
                row = (answer.bytes(0, 0), format, epoch, salt)
            }
        } catch {
            // A table of the same name with other columns.
            if error.error.details["sqlstate"] == "42703" { throw .refused(.foreignSchema(details)) }
            throw error
        }
        if isMalformed { throw .refused(.foreignSchema(details)) }
        guard let row else { return nil }
        guard row.application == Bytes("welkin".utf8) else { throw .refused(.foreignSchema(details)) }
        if row.format > PostgresTable.format { throw .refused(.newerFormat(row.format, details)) }
        if row.format < PostgresTable.format { throw .refused(.olderFormat(row.format, details)) }
        return StoreIdentity(
            UInt64(bitPattern: row.epoch).bigEndianBytes + UInt64(bitPattern: row.salt).bigEndianBytes)
    }
}
