/// Every statement that the engine sends. All of them together are the part of SQL that an engine has to have.
///
/// A statement that touches entries names one partition as a plain parameter, so that an engine that distributes partitions over
/// nodes sends it to one of them. `PostgresStatementTests` reads them all.
enum PostgresStatement: Hashable, Sendable {
    // Transactions.
    case beginRead, beginWrite, commit, rollback
    /// Raises a partition's version and keeps its row locked until the end of the transaction, whether it was there or not.
    case lockPartition
    // Entries.
    case value, scan, scanBack
    /// One lookup by the whole primary key for each row. A list of keys (`key = ANY`) would be one statement for all numbers of them, which the server
    /// may run by reading the whole partition, as long as it takes partitions for small.
    case values(rows: Int)
    case set(rows: Int)
    case clear, clearRange
    // Transactions whose commit may have to be asked for.
    case noteRequest, findRequest, forgetRequest, forgetOldRequests
    // The row of the store itself.
    case identity, addIdentity, renewEpoch
    // The store as a whole, for the operator.
    case anyEntry, partitionNames
    // Opening.
    case tables, createSchema, storeApart
    case create(PostgresTable)
    case endIdleTransactions, awaitDisk, keepPlans, useIndexes, workAlone
    // Hints between nodes.
    case listen, notify

    /// The numbers of rows for which there is a statement: any other number of rows is made of these.
    static let rowCounts = [128, 64, 32, 16, 8, 4, 2, 1]

    /// Every statement, for tests.
    static var all: [Self] {
        [
            .beginRead, .beginWrite, .commit, .rollback, .lockPartition, .value, .scan, .scanBack,
            .clear, .clearRange, .noteRequest, .findRequest, .forgetRequest, .forgetOldRequests, .identity,
            .addIdentity, .renewEpoch, .anyEntry, .partitionNames, .tables, .createSchema, .storeApart,
            .endIdleTransactions, .awaitDisk, .keepPlans, .useIndexes, .workAlone, .listen, .notify,
        ] + PostgresTable.allCases.map { .create($0) } + rowCounts.map { .set(rows: $0) }
            + rowCounts.map { .values(rows: $0) }
    }

    /// The reason why a statement need not name a partition.
    enum Scope: Hashable {
        /// Names one partition.
        case partition
        /// Begins or ends a transaction.
        case transaction
        /// Concerns the one row of the store itself: its format and its epoch.
        case store
        /// Makes the tables, or settings of a connection.
        case opening
        /// Asked by an operator; reads all partitions, and nothing depends on one state of them.
        case inspection
        /// A hint to other nodes, which nothing depends on.
        case hint
    }

    /// The scope of the statement.
    var scope: Scope {
        switch self {
        case .lockPartition, .value, .values, .scan, .scanBack, .set, .clear, .clearRange, .noteRequest, .findRequest,
            .forgetRequest, .forgetOldRequests:
            .partition
        case .beginRead, .beginWrite, .commit, .rollback: .transaction
        case .identity, .addIdentity, .renewEpoch: .store
        case .anyEntry, .partitionNames: .inspection
        case .tables, .createSchema, .create, .storeApart, .endIdleTransactions, .awaitDisk, .keepPlans,
            .useIndexes, .workAlone:
            .opening
        case .listen, .notify: .hint
        }
    }

    var beginsTransaction: Bool { self == .beginRead || self == .beginWrite }
    var endsTransaction: Bool { self == .commit || self == .rollback }

    /// A name for the statement when it is prepared.
    var name: String {
        switch self {
        case .set(let rows): "set\(rows)"
        case .values(let rows): "values\(rows)"
        case .create(let table): "create_\(table.rawValue)"
        default: String(describing: self)
        }
    }

    /// The types of the parameters.
    var parameterTypes: [PostgresType] {
        switch self {
        case .lockPartition, .value, .clear: [.bytes, .bytes]
        case .values(let rows): [PostgresType](repeating: .bytes, count: 1 + rows)
        case .scan, .scanBack: [.bytes, .bytes, .bytes, .integer]
        case .set(let rows): [.bytes] + (0..<rows).flatMap { _ in [.bytes, .bytes, .integer] as [PostgresType] }
        case .clearRange: [.bytes, .bytes, .bytes]
        case .noteRequest, .findRequest, .forgetRequest: [.bytes, .integer, .bytes]
        case .forgetOldRequests: [.bytes, .integer]
        case .addIdentity: [.integer, .integer, .integer]
        case .renewEpoch: [.integer, .integer]
        case .tables: [.text]
        case .notify: [.text, .text]
        default: []
        }
    }

    /// The statement for the tables of a schema.
    func sql(schema: String) -> String {
        let entries = "\"\(schema)\".entries"
        let requests = "\"\(schema)\".requests"
        let store = "\"\(schema)\".store"
        return switch self {
        case .beginRead: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        case .beginWrite: "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
        case .commit: "COMMIT"
        case .rollback: "ROLLBACK"
        case .lockPartition:
            """
            INSERT INTO "\(schema)".partitions(partition, name, version) VALUES ($1, $2, 1)
            ON CONFLICT (partition) DO UPDATE SET version = partitions.version + 1 RETURNING name
            """
        case .value: "SELECT value, sum FROM \(entries) WHERE partition = $1 AND key = $2"
        case .values(let rows):
            (0..<rows).map { "SELECT key, value, sum FROM \(entries) WHERE partition = $1 AND key = $\($0 + 2)" }
                .joined(separator: " UNION ALL ")
        case .scan:
            """
            SELECT key, value, sum FROM \(entries)
            WHERE partition = $1 AND key >= $2 AND key < $3 ORDER BY key LIMIT $4
            """
        case .scanBack:
            """
            SELECT key, value, sum FROM \(entries)
            WHERE partition = $1 AND key >= $2 AND key < $3 ORDER BY key DESC LIMIT $4
            """
        case .set(let rows):
            "INSERT INTO \(entries)(partition, key, value, sum) VALUES "
                + (0..<rows).map { "($1, $\(3 * $0 + 2), $\(3 * $0 + 3), $\(3 * $0 + 4))" }.joined(separator: ", ")
                + " ON CONFLICT (partition, key) DO UPDATE SET value = excluded.value, sum = excluded.sum"
        case .clear: "DELETE FROM \(entries) WHERE partition = $1 AND key = $2"
        case .clearRange: "DELETE FROM \(entries) WHERE partition = $1 AND key >= $2 AND key < $3"
        case .noteRequest: "INSERT INTO \(requests)(partition, at, id) VALUES ($1, $2, $3)"
        case .findRequest: "SELECT id FROM \(requests) WHERE partition = $1 AND at = $2 AND id = $3"
        case .forgetRequest: "DELETE FROM \(requests) WHERE partition = $1 AND at = $2 AND id = $3"
        case .forgetOldRequests: "DELETE FROM \(requests) WHERE partition = $1 AND at < $2"
        case .identity: "SELECT application, format, epoch, salt FROM \(store) WHERE id = 1"
        case .addIdentity:
            """
            INSERT INTO \(store)(id, application, format, epoch, salt) VALUES (1, 'welkin', $1, $2, $3)
            ON CONFLICT (id) DO NOTHING
            """
        case .renewEpoch: "UPDATE \(store) SET epoch = $2 WHERE id = 1 AND epoch = $1"
        case .anyEntry: "SELECT 1 FROM \(entries) LIMIT 1"
        case .partitionNames: "SELECT name FROM \"\(schema)\".partitions ORDER BY name"
        case .tables: "SELECT table_name::text FROM information_schema.tables WHERE table_schema = $1"
        case .createSchema: "CREATE SCHEMA IF NOT EXISTS \"\(schema)\""
        case .create(let table): table.sql(schema: schema)
        // Values beyond a quarter of a page are kept apart as they are: most are sealed, which nothing compresses.
        case .storeApart: "ALTER TABLE \(entries) ALTER COLUMN value SET STORAGE EXTERNAL"
        // A node that hangs does not hold up the writers of a partition on all others.
        case .endIdleTransactions: "SET idle_in_transaction_session_timeout = 20000"
        // An acknowledged commit is on the disk, whatever the database's own setting.
        case .awaitDisk: "SET synchronous_commit = on"
        // Every statement has one good plan, whatever its parameters: by the primary key.
        case .keepPlans: "SET plan_cache_mode = force_generic_plan"
        // A plan that was made while the table was small would read all of it for ever.
        case .useIndexes: "SET enable_seqscan = off"
        // For a table without statistics the server may plan look-ups of many keys for several processes, which take milliseconds to start.
        case .workAlone: "SET max_parallel_workers_per_gather = 0"
        case .listen: "LISTEN \"\(Self.channel(schema: schema))\""
        case .notify: "SELECT pg_notify($1, $2)"
        }
    }

    /// The channel of the hints between nodes.
    static func channel(schema: String) -> String { "welkin_" + schema }
}

/// The types of parameters, with their numbers in the protocol.
enum PostgresType: UInt32 {
    case bytes = 17
    case integer = 20
    case text = 25
}

/// The tables of a store.
enum PostgresTable: String, CaseIterable {
    /// The partitions, each with a version that its writers raise: the lock that they take first.
    case partitions
    /// Keys, values and their checksums.
    case entries
    /// The transactions of the last minutes.
    case requests
    /// One row: the format, the epoch and the salt of the checksums. Made last, so a store that has it is complete.
    case store

    /// Of the rows and columns; raised when an older version could not read them.
    static let format: Int64 = 1

    fileprivate func sql(schema: String) -> String {
        let columns =
            switch self {
            case .partitions:
                """
                (partition bytea NOT NULL, name bytea NOT NULL, version bigint NOT NULL, PRIMARY KEY (partition))
                WITH (fillfactor = 50)
                """
            case .entries:
                """
                (partition bytea NOT NULL, key bytea NOT NULL, value bytea NOT NULL, sum bigint NOT NULL,
                PRIMARY KEY (partition, key))
                """
            case .requests:
                """
                (partition bytea NOT NULL, at bigint NOT NULL, id bytea NOT NULL, PRIMARY KEY (partition, at, id))
                """
            case .store:
                """
                (id bigint NOT NULL, application text NOT NULL, format bigint NOT NULL, epoch bigint NOT NULL,
                salt bigint NOT NULL, PRIMARY KEY (id))
                """
            }
        return "CREATE TABLE IF NOT EXISTS \"\(schema)\".\(rawValue) \(columns)"
    }
}
