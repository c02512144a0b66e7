import CloudUnderTest
import Foundation

/// Clouds whose rows are in PostgreSQL, against PostgreSQL alone and against SQLite.
extension Bench {
    /// Measures batches of 200 records over HTTP against pgbench, which sends the same statements, each with as many bytes.
    func databaseBatches() throws -> Comparison {
        var comparison = Comparison(
            id: "qa",
            title: "batches of 200 records of 1 KiB over HTTP, on PostgreSQL / pgbench with the same statements",
            unit: "records/s", bound: .atLeast, target: 0.60)
        let server = try DatabaseServer()
        defer { server.end() }
        let (cloud, user) = try cloud(on: server)
        defer { cloud.end() }
        let exchange = try RawExchange(port: cloud.port, connections: 8)
        _ = try ask(exchange, user.makeZone("Batches"))
        try removeIndexes(on: cloud, by: user, zone: "Batches", over: exchange)
        let template = BatchTemplate(user, zone: "Batches", count: 200)
        _ = try ask(exchange, template.request(first: 0))
        let recorded = try RecordedTransaction(on: server, partitions: 1) {
            _ = try ask(exchange, template.request(first: 200))
        }
        comparison.remarks.append("8 connections, one partition; a batch sends \(recorded.summary)")
        let seconds = options.isQuick ? 1.0 : 4.0
        var next = 400
        for round in 0...rounds {
            let load = try Load.run(exchange, seconds: seconds) { _ in
                defer { next += 200 }
                return template.request(first: next)
            }
            let rate = try server.transactionsPerSecond(
                script: recorded.script, clients: 8, seconds: seconds, variables: recorded.variables)
            guard round > 0 else { continue }
            comparison.measured.append(load.rate * 200)
            comparison.yardstick.append(rate * 200)
        }
        return comparison
    }

    /// Measures single saves of 64 users, each in a partition of its own, against pgbench with the same statements.
    func databaseSaves() throws -> Comparison {
        var comparison = Comparison(
            id: "qe",
            title: "single saves of 64 clients in 64 partitions, on PostgreSQL / pgbench with the same statements",
            unit: "saves/s", bound: .atLeast, target: 0.50)
        let server = try DatabaseServer()
        defer { server.end() }
        let cloud = try node(on: server)
        defer { cloud.end() }
        let crowd = try Crowd(on: cloud, people: 64, listeners: 0, idle: 0, savers: 64)
        let templates = crowd.people.map { BatchTemplate($0.user, zone: "Z", count: 1) }
        var next = 1
        for template in templates { _ = try ask(crowd.exchange, template.request(first: 0)) }
        let recorded = try RecordedTransaction(on: server, partitions: 64) {
            _ = try ask(crowd.exchange, templates[0].request(first: 999_999_999))
        }
        comparison.remarks.append("a save sends \(recorded.summary)")
        let seconds = options.isQuick ? 1.0 : 4.0
        var processor: [Double] = []
        for round in 0...rounds {
            let before = cloud.processorSeconds
            let load = try Load.run(crowd.exchange, seconds: seconds) { connection in
                defer { next += 1 }
                return templates[connection].request(first: next)
            }
            let used = (cloud.processorSeconds - before) / Double(load.requests) * 1e6
            let rate = try server.transactionsPerSecond(
                script: recorded.script, clients: 64, seconds: seconds, variables: recorded.variables)
            guard round > 0 else { continue }
            comparison.measured.append(load.rate)
            comparison.yardstick.append(rate)
            processor.append(used)
        }
        comparison.remarks.append("processor time of the node \(Int(Comparison.median(processor))) µs a save")
        return comparison
    }

    /// Measures saves of 64 clients in one partition against a disk that syncs once for each save.
    func databaseSavesOfOnePartition() throws -> Comparison {
        var comparison = Comparison(
            id: "qo",
            title:
                "saves of 64 clients in one partition, on PostgreSQL whose syncs take 5 ms more / one sync after the other",
            unit: "saves/s", bound: .atLeast, target: 20)
        let server = try DatabaseServer(environment: try DiskSync.slower(byMicroseconds: 5000))
        defer { server.end() }
        let (cloud, user) = try cloud(on: server)
        defer { cloud.end() }
        try makeZone("Clients", on: cloud, by: user)
        let template = BatchTemplate(user, zone: "Clients", count: 1)
        let exchange = try RawExchange(port: cloud.port, connections: 64)
        let sync = try DiskSync.median(in: folder) + 0.005
        var next = 0
        for round in 0...rounds {
            let load = try Load.run(exchange, seconds: options.isQuick ? 1 : 4) { _ in
                defer { next += 1 }
                return template.request(first: next)
            }
            guard round > 0 else { continue }
            comparison.measured.append(load.rate)
            comparison.yardstick.append(1 / sync)
        }
        return comparison
    }

    /// Measures the node's processor time of a save against that on SQLite.
    func databaseCosts() throws -> Comparison {
        var comparison = Comparison(
            id: "qc", title: "processor time of the node for a save of 16 clients, on PostgreSQL / on SQLite",
            unit: "µs",
            bound: .atMost, target: 1.30)
        let server = try DatabaseServer()
        defer { server.end() }
        let sides = try [cloud(on: server), cloud()]
        defer { for side in sides { side.0.end() } }
        let exchanges = try sides.map { try RawExchange(port: $0.0.port, connections: 16) }
        for (cloud, user) in sides { try makeZone("Saves", on: cloud, by: user) }
        let templates = sides.map { BatchTemplate($0.1, zone: "Saves", count: 1) }
        let count = options.isQuick ? 300 : 4_000
        for round in 0...rounds {
            let costs = try sides.indices.map { side in
                var numbers = (round * count..<(round + 1) * count)[...]
                let before = sides[side].0.processorSeconds
                _ = try Load.run(exchanges[side]) { _ in numbers.popFirst().map { templates[side].request(first: $0) } }
                return (sides[side].0.processorSeconds - before) / Double(count) * 1e6
            }
            guard round > 0 else { continue }
            comparison.measured.append(costs[0])
            comparison.yardstick.append(costs[1])
        }
        return comparison
    }

    /// Measures a save among a million partitions against one among a thousand.
    func databasePartitions() throws -> Comparison {
        let many = options.isQuick ? 20_000 : 1_000_000
        var comparison = Comparison(
            id: "qp", title: "saving one record among \(many) partitions, on PostgreSQL / among 1,000, median time",
            unit: "µs", bound: .atMost, target: 1.10)
        let servers = try [DatabaseServer(), DatabaseServer()]
        defer { for server in servers { server.end() } }
        let sides = try servers.map { try cloud(on: $0) }
        defer { for side in sides { side.0.end() } }
        for (server, count) in zip(servers, [many, 1_000]) {
            // Eight entries in each: their content is never read.
            try server.sql(
                """
                INSERT INTO welkin.partitions(partition, name, version)
                SELECT decode(md5(n::text), 'hex'), ('private/iCloud.org.welkin.benchmarks/development/_' || n)::bytea, 1
                FROM generate_series(1, \(count)) n;
                INSERT INTO welkin.entries(partition, key, value, sum)
                SELECT decode(md5(n::text), 'hex'), int8send(k) || decode(md5(k::text), 'hex'), decode(repeat('61', 200), 'hex'), 0
                FROM generate_series(1, \(count)) n, generate_series(1, 8) k;
                ANALYZE;
                CHECKPOINT
                """)
        }
        for (cloud, user) in sides { try makeZone("Saves", on: cloud, by: user) }
        try alternateSaves(&comparison, on: sides)
        comparison.remarks.append(
            "8 entries of 200 bytes in each; memory of the nodes "
                + sides.map { "\($0.0.residentBytes >> 20)" }.joined(separator: " and ") + " MiB")
        return comparison
    }

    /// Returns a cloud on a database, with a user.
    func cloud(on server: DatabaseServer) throws -> (CloudProcess, SignedInUser) {
        try cloud(environment: store(server))
    }

    /// Returns a cloud on a database that takes the addresses of clients from their requests, as a crowd needs.
    ///
    /// - Parameter other: A cloud of whose nodes this is another one.
    func node(
        on server: DatabaseServer, schema: String = "welkin", besides other: CloudProcess? = nil
    ) throws -> CloudProcess {
        try CloudProcess(
            binary: welkin, in: folder, arguments: ["--behind-proxy"], environment: store(server, schema: schema),
            nodeOf: other)
    }

    private func store(_ server: DatabaseServer, schema: String = "welkin") -> [String: String] {
        ["WELKIN_STORE": server.address(schema: schema)]
    }
}
