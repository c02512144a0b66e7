import Testing

@testable import OrderedStorePostgres

/// Keeps the engine to the part of SQL that PostgreSQL, Citus, YugabyteDB and CockroachDB have in common.
@Suite("Statements of the PostgreSQL engine", .timeLimit(.minutes(20)))
struct PostgresStatementTests {
    private static let refused = [
        "ADVISORY", "NEXTVAL", "SERIAL", "SEQUENCE", "TRIGGER", "NOW()", "RANDOM(", "CURRENT_TIMESTAMP",
        "CLOCK_TIMESTAMP", "GEN_RANDOM_UUID", "XMIN", "TXID", "PG_SNAPSHOT", "LOCK TABLE", "MERGE", "COPY",
        "CURSOR", "UNNEST", "TEMP ", "TEMPORARY", "PLPGSQL", "FUNCTION", "DOMAIN", "EXCLUDE USING", "DEFERRABLE",
        "CONVERT_TO", "FOR UPDATE", "SKIP LOCKED",
        " JOIN ", "REFERENCES", "/",
    ]

    @Test(arguments: PostgresStatement.all)
    func `a statement has nothing that another engine lacks`(_ statement: PostgresStatement) {
        let sql = statement.sql(schema: "s").uppercased()
        for word in Self.refused { #expect(!sql.contains(word), "\(word) in \(sql)") }
        #expect(!sql.contains(";"))
        #expect(!sql.contains("ON CONFLICT") || sql.contains("ON CONFLICT ("))
    }

    @Test(arguments: PostgresStatement.all)
    func `a statement on entries names one partition as a plain parameter`(_ statement: PostgresStatement) {
        let sql = statement.sql(schema: "s").uppercased()
        let touchesTables = ["\".ENTRIES", "\".PARTITIONS", "\".REQUESTS"].contains { sql.contains($0) }
        switch statement.scope {
        case .partition:
            #expect(touchesTables)
            #expect(sql.contains("WHERE PARTITION = $1") || sql.contains("VALUES ($1, "), "\(sql)")
            if case .set(let rows) = statement {
                #expect(sql.ranges(of: "($1, ").count == rows)
            }
        case .inspection: #expect(statement == .anyEntry || statement == .partitionNames)
        case .opening: #expect(!touchesTables || sql.hasPrefix("CREATE TABLE") || sql.hasPrefix("ALTER TABLE"))
        case .store: #expect(!touchesTables && sql.contains("\".STORE"))
        case .transaction: #expect(!touchesTables)
        case .hint: #expect(statement == .listen || statement == .notify)
        }
    }

    @Test func `every key of a table but the store's begins with the partition`() {
        for table in PostgresTable.allCases where table != .store {
            let sql = PostgresStatement.create(table).sql(schema: "s")
            #expect(sql.contains("PRIMARY KEY (partition"), "\(sql)")
        }
    }

    @Test(arguments: PostgresStatement.all)
    func `the parameters of a statement are those that it declares`(_ statement: PostgresStatement) {
        let sql = statement.sql(schema: "s")
        let count = statement.parameterTypes.count
        if count > 0 { #expect(sql.contains("$\(count)")) }
        #expect(!sql.contains("$\(count + 1)"))
        // The limit of the protocol.
        #expect(count < 65_536)
    }

    @Test func `names of prepared statements are distinct`() {
        #expect(Set(PostgresStatement.all.map(\.name)).count == PostgresStatement.all.count)
    }
}
