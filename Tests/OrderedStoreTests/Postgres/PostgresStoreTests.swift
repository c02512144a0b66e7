import OrderedStore
import PostgresServer
import Testing

@testable import OrderedStorePostgres

@Suite(
    "PostgreSQL engine", .timeLimit(.minutes(20)),
    .enabled(if: PostgresServer.missing == nil, "PostgreSQL is not installed"))
struct PostgresStoreTests {
    private func open(_ address: String) async throws -> PostgresStore {
        var options = try PostgresStore.Options(PostgresConfiguration(address), wallClock: { 0 })
        options.awayMax = .zero
        return try await PostgresStore.open(options)
    }

    @Test func `a store keeps its content, epoch and number when it is opened again`() async throws {
        let schema = PostgresServer.freshSchema()
        var epoch: UInt64 = 0
        var id: UInt64 = 0
        try await withPostgresStore(schema: schema) { store in
            #expect(try await store.isEmpty())
            try await store.put(["a": "1"])
            #expect(try await !store.isEmpty())
            (epoch, id) = (store.epoch, store.storeID)
        }
        try await withPostgresStore(schema: schema) { store in
            #expect(try await store.value("a") == "1")
            #expect((store.epoch, store.storeID) == (epoch, id))
            #expect(try await store.partitionNames() == ["home"])
            try await store.renewEpoch(from: epoch &+ 1)
            #expect(store.epoch == epoch)
            try await store.renewEpoch(from: epoch)
            #expect(store.epoch != epoch)
        }
    }

    @Test func `processes that open an empty database at the same time make one store`() async throws {
        let server = try await PostgresServer.shared()
        let address = server.address(schema: PostgresServer.freshSchema())
        let ids = try await withThrowingTaskGroup(of: UInt64.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let store = try await open(address)
                    defer { Task { await store.close() } }
                    return store.storeID
                }
            }
            return try await group.reduce(into: Set<UInt64>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
    }

    @Test func `many writers of one partition share commits`() async throws {
        let schema = PostgresServer.freshSchema()
        var options = try await postgresOptions(schema: schema)
        // No batch is committed because it has been open for long.
        options.now = { 0 }
        try await withPostgresStore(schema: schema, options) { store in
            let (inside, outside) = (Latch(), Latch())
            async let first: Void = store.write(home) { transaction in
                await inside.open()
                await outside.wait()
                transaction.set([0], [1])
            }
            await inside.wait()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1..<200 {
                    group.addTask { try await store.write(home) { $0.set([UInt8(number)], [1]) } }
                }
                while store.writer.writerCount(of: home) < 200 { await Task.yield() }
                await outside.open()
                try await group.waitForAll()
            }
            try await first
            #expect(try await store.all().count == 200)
            #expect(store.commitCount < 10, "\(store.commitCount) commits")
            #expect(store.writer.laneCount == 0)
        }
    }

    @Test func `writers of different partitions do not wait for one another`() async throws {
        try await withPostgresStore { store in
            let (inside, outside) = (Latch(), Latch())
            let slow = Task {
                try await store.write(home) { transaction in
                    await inside.open()
                    await outside.wait()
                    transaction.set(bytes("a"), [])
                }
            }
            await inside.wait()
            try await store.put(["b": ""], in: other)
            #expect(try await store.all(in: other).keys == ["b"])
            await outside.open()
            try await slow.value
        }
    }

    @Test func `transactions of two processes on one partition follow one another`() async throws {
        let schema = PostgresServer.freshSchema()
        try await withPostgresStore(schema: schema) { first in
            try await withPostgresStore(schema: schema) { second in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for store in [first, second] {
                        for _ in 0..<4 {
                            group.addTask {
                                for _ in 0..<25 { try await increment(bytes("n"), in: home, of: store) }
                            }
                        }
                        group.addTask {
                            for _ in 0..<10 {
                                // In both orders: locks are taken in one.
                                let order = store === first ? [home, other] : [other, home]
                                try await store.write(order) { transaction in
                                    let count =
                                        try await transaction.get(bytes("n"), in: home)
                                        .flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
                                    try transaction.set(bytes("n"), bytes(String(count + 1)), in: home)
                                    try transaction.set(bytes("m"), [], in: other)
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await first.value("n") == "220")
                #expect(try await second.value("n") == "220")
            }
        }
    }

    @Test func `a follower that reads by version misses no commit of writers in two processes`() async throws {
        let schema = PostgresServer.freshSchema()
        try await withPostgresStore(schema: schema) { first in
            try await withPostgresStore(schema: schema) { second in
                let written = 16 * 10
                let followed = Task {
                    var seen: [Bytes] = []
                    while seen.count < written {
                        let lower = (seen.last ?? []) + [0]
                        seen += try await second.read(home) {
                            try await $0.scan(KeyRange(lower: lower, upper: [255]), limit: 50)
                        }.map(\.key)
                        await Task.yield()
                    }
                    return seen
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in 0..<16 {
                        group.addTask {
                            for _ in 0..<10 {
                                try await (writer % 2 == 0 ? first : second).write(home) { transaction in
                                    let last = try await transaction.scan(
                                        KeyRange(lower: [1], upper: [255]), limit: 1, reverse: true
                                    ).first?.key
                                    let version = last.map { Int($0[1]) << 8 + Int($0[2]) + 1 } ?? 0
                                    transaction.set([1, UInt8(version >> 8), UInt8(version & 255)], [UInt8(writer)])
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await followed.value.count == written)
            }
        }
    }

    @Test func `hints reach other processes, and change their marks`() async throws {
        let schema = PostgresServer.freshSchema()
        try await withPostgresStore(schema: schema) { first in
            try await withPostgresStore(schema: schema) { second in
                var hints = second.commits().makeAsyncIterator()
                // Until the other one listens, a hint may be lost: it is repeated.
                let writing = Task {
                    while !Task.isCancelled {
                        try await first.put(["a": "1"], in: other)
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
                #expect(await hints.next() == other)
                writing.cancel()
                let mark = try await second.foreignCommitMark()
                #expect(mark > 0)
            }
        }
    }

    @Test func `a renewed epoch reaches other processes also while hints keep coming`() async throws {
        let schema = PostgresServer.freshSchema()
        try await withPostgresStore(schema: schema) { first in
            var options = try await postgresOptions(schema: schema)
            options.pollInterval = .milliseconds(200)
            try await withPostgresStore(schema: schema, options) { second in
                let writing = Task {
                    while !Task.isCancelled {
                        try await first.put(["a": "1"])
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
                defer { writing.cancel() }
                var hints = second.commits().makeAsyncIterator()
                #expect(await hints.next() == home)
                try await first.renewEpoch(from: first.epoch)
                while second.epoch != first.epoch { try await Task.sleep(for: .milliseconds(5)) }
            }
        }
    }

    @Test func `commits of partitions that are not marked leave the mark as it is`() async throws {
        let schema = PostgresServer.freshSchema()
        try await withPostgresStore(schema: schema) { first in
            var options = try await postgresOptions(schema: schema)
            options.markedPartitions = [home]
            try await withPostgresStore(schema: schema, options) { second in
                func commit(in partition: Partition) async throws {
                    var hints = second.commits().makeAsyncIterator()
                    let writing = Task {
                        while !Task.isCancelled {
                            try await first.put(["a": "1"], in: partition)
                            try await Task.sleep(for: .milliseconds(20))
                        }
                    }
                    while await hints.next() != partition {}
                    writing.cancel()
                    _ = await writing.result
                }
                try await commit(in: other)
                let mark = try await second.foreignCommitMark()
                try await commit(in: other)
                #expect(try await second.foreignCommitMark() == mark)
                try await commit(in: home)
                while try await second.foreignCommitMark() == mark { try await Task.sleep(for: .milliseconds(5)) }
            }
        }
    }

    @Test func `commits of quiet partitions are neither counted nor hinted at`() async throws {
        let schema = PostgresServer.freshSchema()
        var options = try await postgresOptions(schema: schema)
        options.quietPartitions = [other]
        try await withPostgresStore(schema: schema, options) { store in
            var hints = store.commits().makeAsyncIterator()
            try await store.put(["a": "1"], in: other)
            #expect(store.commitCount == 0)
            #expect(try await store.all(in: other).keys == ["a"])
            try await store.put(["a": "1"])
            #expect(store.commitCount == 1)
            #expect(await hints.next() == home)
        }
    }

    @Test func `tables of another program that have the names of ours are refused as such`() async throws {
        let server = try await PostgresServer.shared()
        let schema = PostgresServer.freshSchema()
        try server.sql("CREATE SCHEMA \(schema); CREATE TABLE \(schema).store(id bigint, shop text)")
        try server.sql("INSERT INTO \(schema).store VALUES (1, 'a shop')")
        await expect(.notAStore) { _ = try await open(server.address(schema: schema)) }
        do {
            _ = try await open(server.address(schema: schema))
        } catch let error as StoreError {
            #expect(error.reason == "the schema of the database holds the tables of another program")
        }
        #expect(try server.sql("SELECT shop FROM \(schema).store") == "a shop")
    }

    @Test func `a changed value is an error of its key alone`() async throws {
        let schema = PostgresServer.freshSchema()
        let server = try await PostgresServer.shared()
        try await withPostgresStore(schema: schema) { store in
            let long = String(repeating: "x", count: 30_000)
            try await store.put(["a": "1", "b": "2", "c": long])
            try server.sql("UPDATE \(schema).entries SET value = '\\x33' WHERE key = '\\x62'")
            await expect(.damagedValue) { _ = try await store.value("b") }
            await expect(.damagedValue) { _ = try await store.all() }
            #expect(try await store.value("a") == "1")
            #expect(try await store.value("c") == long)
            #expect(store.damage.count == 1)
            let rows = try await store.read(home) { try await $0.rows(everything, limit: 9) }
            #expect(rows.map { $0.value == nil } == [false, true, false])
            // A value under another key, with its checksum.
            let first = "(SELECT value, sum FROM \(schema).entries WHERE key = '\\x61')"
            try server.sql("UPDATE \(schema).entries SET (value, sum) = \(first) WHERE key = '\\x63'")
            await expect(.damagedValue) { _ = try await store.value("c") }
            try await store.put(["b": "2", "c": "3"])
            #expect(try await store.all().count == 3)
        }
    }

    @Test func `what waiting writers expect to read is read together, whatever another one finds damaged`() async throws
    {
        let schema = PostgresServer.freshSchema()
        try await withPostgresStore(schema: schema) { store in
            try await store.put(["a": "1", "b": "2", "c": "3"])
            try await PostgresServer.shared().sql(
                "UPDATE \(schema).entries SET value = '\\x00' WHERE key = '\\x62'")
            let (inside, outside) = (Latch(), Latch())
            func write(_ name: String, first: Bool = false) async throws -> Bytes? {
                try await WriteTurn.$expectedReads.withValue(ExpectedReads(keys: [bytes(name), bytes("absent")])) {
                    try await store.write(home) { transaction in
                        if first {
                            await inside.open()
                            await outside.wait()
                        }
                        #expect(try await transaction.get(bytes("absent")) == nil)
                        let value = try await transaction.get(bytes(name))
                        transaction.set(bytes(name), bytes("new"))
                        return value
                    }
                }
            }
            async let slow = write("a", first: true)
            await inside.wait()
            let damaged = Task { try await write("b") }
            async let other = write("c")
            async let again = write("a")
            while store.writer.writerCount(of: home) < 4 { await Task.yield() }
            await outside.open()
            #expect(try await slow == bytes("1"))
            #expect(try await other == bytes("3"))
            // What the writer before it in the batch wrote, not what was read ahead.
            #expect(try await again == bytes("new"))
            await #expect(throws: StoreError.self) { try await damaged.value }
        }
    }

    /// Options of a store without hints, and the statements that it sends.
    private func recordingOptions() async throws -> (PostgresStore.Options, Shared<[PostgresStatement]>) {
        let statements = Shared<[PostgresStatement]>([])
        var options = try await postgresOptions()
        options.exchangesHints = false
        options.fault = { statement in
            statements.withLock { $0.append(statement) }
            return nil
        }
        return (options, statements)
    }

    @Test func `expected reads come with the lock, and what was read once is not read again`() async throws {
        let (options, statements) = try await recordingOptions()
        try await withPostgresStore(options) { store in
            try await store.put(["a": "1", "range/b": "2", "range/c": "3"])
            // Opens the connection for reads.
            #expect(try await store.value("a") == "1")
            statements.withLock { $0 = [] }
            let expected = ExpectedReads(keys: [bytes("a"), bytes("absent")], ranges: [range("range/", "range0")])
            try await WriteTurn.$expectedReads.withValue(expected) {
                try await store.write(home) { transaction in
                    #expect(try await transaction.get(bytes("a")) == bytes("1"))
                    #expect(try await transaction.get(bytes("absent")) == nil)
                    for limit in [1, 2, 9] {
                        let found = try await transaction.scan(range("range/", "range0"), limit: limit)
                        #expect(found.keys == Array(["range/b", "range/c"].prefix(limit)))
                        let last = try await transaction.scan(range("range/", "range0"), limit: limit, reverse: true)
                        #expect(last.keys == Array(["range/c", "range/b"].prefix(limit)))
                    }
                    transaction.set(bytes("range/b"), bytes("new"))
                    let changed = try await transaction.scan(range("range/", "range0"), limit: 9)
                    #expect(changed.first?.value == bytes("new"))
                }
            }
            let sent = statements.withLock { $0 }
            let wanted: [PostgresStatement] = [
                .beginWrite, .lockPartition, .values(rows: 2), .scan, .set(rows: 1), .noteRequest, .commit,
            ]
            #expect(sent.filter { $0 != .forgetOldRequests && $0 != .forgetRequest } == wanted)
            statements.withLock { $0 = [] }
            #expect(try await store.read(home, expecting: [bytes("a")]) { try await $0.get(bytes("a")) } == bytes("1"))
            #expect(statements.withLock { $0 } == [.values(rows: 1)])
        }
    }

    @Test func `a store that catches up commits, and reads over new connections`() async throws {
        let (options, statements) = try await recordingOptions()
        try await withPostgresStore(options) { store in
            try await store.put(["a": "1"])
            #expect(try await store.value("a") == "1")
            let (inside, outside) = (Latch(), Latch())
            let slow = Task {
                try await store.read(home) { transaction in
                    await inside.open()
                    await outside.wait()
                    return try await transaction.get(bytes("a"))
                }
            }
            await inside.wait()
            statements.withLock { $0 = [] }
            #expect(try await store.catchUp())
            #expect(statements.withLock { $0 } == [.beginWrite, .lockPartition, .commit])
            // One in use ends when it is given back.
            await outside.open()
            #expect(try await slow.value == bytes("1"))
            for _ in 0..<2 { #expect(try await store.value("a") == "1") }
            #expect(statements.withLock { $0 }.count { $0 == .awaitDisk } == 1)
        }
    }

    @Test func `a key that is too long is refused, and those beside it are not`() async throws {
        try await withPostgresStore { store in
            await expect(.unavailable) { try await store.put([String(repeating: "k", count: 3000): ""]) }
            try await store.put([String(repeating: "k", count: 2000): ""])
        }
    }

    @Test func `a batch is larger than one statement, a scan larger than one answer`() async throws {
        try await withPostgresStore { store in
            try await store.write(home) { transaction in
                for number in 0..<5000 { transaction.set([UInt8(number >> 8), UInt8(number & 255)], [1]) }
            }
            #expect(try await store.all().count == 5000)
            let reversed = try await store.read(home) { try await $0.scan(everything, limit: 4500, reverse: true) }
            #expect(reversed.count == 4500)
            #expect(reversed.first?.key == [19, 135])
            let keys: [Bytes] = (0..<5001).map { [UInt8($0 >> 8), UInt8($0 & 255)] }
            let values = try await store.read(home) { try await $0.get(keys) }
            #expect(values.compactMap { $0 }.count == 5000)
            try await store.write(home) { transaction in
                for key in keys.prefix(2500) { transaction.clear(key) }
            }
            #expect(try await store.all().count == 2500)
        }
    }

    @Test func `statements that are not prepared do the same`() async throws {
        let server = try await PostgresServer.shared()
        let address = server.address(schema: PostgresServer.freshSchema()) + "&prepared=no"
        let store = try await open(address)
        var simulation = ModelSimulation(seed: 5)
        for _ in 0..<20 { try await simulation.step(store) }
        try await simulation.audit(store)
        await store.close()
        await expect(.closed) { try await store.put(["a": ""]) }
        await expect(.closed) { _ = try await store.value("a") }
    }

    @Test func `a transaction that has ended reads nothing`() async throws {
        try await withPostgresStore { store in
            try await store.put(["a": "1"])
            let leaked = try await store.read(home) { transaction in
                _ = try await transaction.get(bytes("a"))
                return transaction
            }
            await expect(.closed) { _ = try await leaked.get(bytes("a")) }
        }
    }

    @Test func `transactions leave few rows behind`() async throws {
        let schema = PostgresServer.freshSchema()
        let server = try await PostgresServer.shared()
        let clock = Shared<Int64>(0)
        var options = try await postgresOptions(schema: schema)
        options.wallClock = { clock.withLock { $0 } }
        try await withPostgresStore(options) { store in
            for _ in 0..<20 { try await store.put(["a": "1"]) }
            clock.withLock { $0 = 700_000 }
            try await store.put(["a": "2"])
            #expect(try server.sql("SELECT count(*) FROM \(schema).requests") == "1")
        }
    }

    /// What the server takes for one row may be a partition with a million.
    @Test(arguments: [PostgresStatement.value, .values(rows: 8), .values(rows: 128), .clear])
    func `entries are found by their whole keys, however few rows the server believes in`(
        _ statement: PostgresStatement
    ) async throws {
        let schema = PostgresServer.freshSchema()
        let server = try await PostgresServer.shared()
        try await withPostgresStore(try await postgresOptions(schema: schema)) { _ in
            let count = statement.parameterTypes.count
            let (types, values) = (Array(repeating: "bytea", count: count), Array(repeating: "'x'", count: count))
            let plan = try server.sql(
                "PREPARE p(\(types.joined(separator: ", "))) AS \(statement.sql(schema: schema)); "
                    + "SET LOCAL enable_seqscan = off; SET LOCAL plan_cache_mode = force_generic_plan; "
                    + "EXPLAIN EXECUTE p(\(values.joined(separator: ", "))); DEALLOCATE p")
            let conditions = plan.split(separator: "\n").filter { $0.contains("Cond: ((partition = $1) AND (key = $") }
            #expect(conditions.count == count - 1, "\(plan)")
            #expect(!plan.contains("Filter"))
        }
    }

    // MARK: Bad input

    @Test func `a database that cannot be used is a clear error, without the password`() async throws {
        let server = try await PostgresServer.shared()
        let schema = PostgresServer.freshSchema()
        let cases: [(String, StoreError.Code, String)] = [
            (server.networkAddress(password: "hidden", query: "schema=\(schema)"), .unavailable, "28P01"),
            (server.networkAddress(database: "nothing", query: "schema=\(schema)"), .unavailable, "3D000"),
            ("postgres://ada:hidden@127.0.0.1:1/c", .unavailable, "cause"),
            (server.networkAddress(query: "sslmode=verify-full"), .unavailable, "TLS"),
            ("postgres://ada:hidden@nothing.invalid/c?sslmode=disable", .unavailable, "cause"),
        ]
        for (address, code, part) in cases {
            do {
                _ = try await open(address)
                Issue.record("opened")
            } catch {
                let text = String(describing: error)
                #expect((error as? StoreError)?.code == code, "\(text)")
                #expect(text.contains(part), "\(text)")
                #expect(!text.contains("hidden") && !text.contains(server.password), "\(text)")
            }
        }
        let right = try await open(server.networkAddress(query: "schema=\(schema)"))
        try await right.put(["a": "1"])
        await right.close()
    }

    @Test func `a schema that is not ours, or of another version, is refused and left alone`() async throws {
        let server = try await PostgresServer.shared()
        let foreign = PostgresServer.freshSchema()
        try server.sql("CREATE SCHEMA \(foreign); CREATE TABLE \(foreign).customers(id int)")
        await expect(.notAStore) { _ = try await open(server.address(schema: foreign)) }
        let tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = '\(foreign)'"
        #expect(try server.sql(tables) == "1")

        let schema = PostgresServer.freshSchema()
        try await withPostgresStore(schema: schema) { try await $0.put(["a": "1"]) }
        for (change, code) in [
            ("format = 2", .newerFormat), ("format = 0", .olderFormat), ("format = 1, application = 'x'", .notAStore),
        ] as [(String, StoreError.Code)] {
            try server.sql("UPDATE \(schema).store SET \(change)")
            await expect(code) { _ = try await open(server.address(schema: schema)) }
        }
        try server.sql("DELETE FROM \(schema).store")
        await expect(.corrupt) { _ = try await open(server.address(schema: schema)) }
        #expect(try server.sql("SELECT count(*) FROM \(schema).entries") == "1")
    }

    @Test func `missing rights and a read-only database are clear errors`() async throws {
        let server = try await PostgresServer.shared()
        let name = PostgresServer.freshSchema()
        try server.sql("CREATE USER \(name)")
        let address = server.address(schema: name).replacing("welkin@", with: "\(name)@")
        do {
            _ = try await open(address)
            Issue.record("opened")
        } catch {
            #expect((error as? StoreError)?.details["sqlstate"] == "42501", "\(error)")
        }
        try server.sql("ALTER USER \(name) SET default_transaction_read_only = on")
        await expect(.readOnly) { _ = try await open(address) }
    }

    @Test func `a server that is killed and started again loses nothing that was acknowledged`() async throws {
        let server = try PostgresServer()
        try await withPostgresStore(postgresOptions(on: server)) { store in
            let acknowledged = Shared<[Int]>([])
            let hasFailed = Shared(false)
            let writing = Task {
                do {
                    for number in 0... {
                        if Task.isCancelled { return }
                        try await store.put([String(number): ""])
                        acknowledged.withLock { $0.append(number) }
                    }
                } catch {
                    hasFailed.withLock { $0 = true }
                    throw error
                }
            }
            func wait(forWrites count: Int) async {
                while acknowledged.withLock({ $0.count }) < count, !hasFailed.withLock({ $0 }) { await Task.yield() }
            }
            for round in 1...2 {
                await wait(forWrites: round * 20)
                try server.kill()
                try server.start()
            }
            await wait(forWrites: 60)
            writing.cancel()
            do { try await writing.value } catch is CancellationError {}
            let keys = Set(try await store.all().keys)
            #expect(acknowledged.withLock { $0 }.allSatisfy { keys.contains(String($0)) })
        }
    }

    @Test func `a server that stays away is an error once its time is over`() async throws {
        let server = try PostgresServer()
        var options = try await postgresOptions(on: server)
        options.awayMax = .milliseconds(100)
        try await withPostgresStore(options) { store in
            try await store.put(["a": "1"])
            try server.kill()
            await expect(.unavailable) { try await store.put(["a": "2"]) }
            await expect(.unavailable) { _ = try await store.value("a") }
            try server.start()
            #expect(try await store.value("a") == "1")
            try await store.put(["a": "3"])
        }
    }
}
