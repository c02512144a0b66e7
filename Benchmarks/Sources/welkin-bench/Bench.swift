import CloudUnderTest
import Foundation

/// The measurements, each interleaved with its baseline, round by round.
struct Bench {
    let options: BenchOptions
    let welkin: String
    /// The folder of the server's and the baseline's data, on the same disk.
    let folder: String

    static let container = "iCloud.org.welkin.benchmarks"

    init(_ options: BenchOptions) throws {
        self.options = options
        guard let welkin = options.welkin ?? Self.program() else {
            throw BenchError(".build/release/welkin does not exist; build it, or pass its path with --welkin")
        }
        self.welkin = welkin
        folder = NSTemporaryDirectory() + "/welkin-bench-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    func end() { try? FileManager.default.removeItem(atPath: folder) }

    /// Returns the server of the parent package.
    private static func program() -> String? {
        var place = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        for _ in 0..<6 {
            place.deleteLastPathComponent()
            let path = place.appendingPathComponent(".build/release/welkin").path
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        return nil
    }

    var rounds: Int { options.rounds ?? (options.isQuick ? 2 : 5) }

    func cloud(environment: [String: String] = [:]) throws -> (CloudProcess, SignedInUser) {
        let cloud = try CloudProcess(binary: welkin, in: folder, environment: environment)
        return (cloud, try cloud.signIn(container: Self.container, profile: "bench"))
    }

    func ask(_ exchange: RawExchange, _ request: RawRequest) throws -> RawResponse {
        let answer = try exchange.ask(request, timeout: 120)
        guard answer.status == 200, !answer.text.contains("serverErrorCode") else {
            throw BenchError("HTTP \(answer.status): \(answer.text.prefix(500))")
        }
        return answer
    }

    /// Fills a zone over HTTP.
    private func fill(
        _ zone: String, count: Int, by user: SignedInUser, port: UInt16, payload: String = Payload.base64
    ) throws {
        let exchange = try RawExchange(port: port, connections: 4)
        let template = BatchTemplate(user, zone: zone, count: min(200, count), payload: payload)
        var next = 0
        _ = try Load.run(exchange) { _ in
            guard next < count else { return nil }
            defer { next += min(200, count) }
            return template.request(first: next)
        }
    }

    /// Measures batches of 200 records over HTTP against rows of raw SQLite, both without indexes.
    func batches() throws -> Comparison {
        try batches(
            Comparison(
                id: "a", title: "batches of 200 records of 1 KiB over HTTP / raw SQLite inserts of the same bytes",
                unit: "records/s", bound: .atLeast, target: 0.70), indexes: false)
    }

    /// Measures the same with indexes on all fields, as development creates them for new fields.
    func indexedBatches() throws -> Comparison {
        try batches(
            Comparison(
                id: "a+", title: "the same, the cloud indexing text (twice), number and date", unit: "records/s",
                bound: .atLeast, target: 0.45), indexes: true)
    }

    private func batches(_ comparison: Comparison, indexes: Bool) throws -> Comparison {
        var comparison = comparison
        let (cloud, user) = try cloud()
        defer { cloud.end() }
        let sqlite = try RawSQLite(path: folder + "/raw-\(indexes).sqlite")
        let exchange = try RawExchange(port: cloud.port, connections: 8)
        _ = try ask(exchange, user.makeZone("Batches"))
        let template = BatchTemplate(user, zone: "Batches", count: 200)
        if !indexes { try removeIndexes(on: cloud, by: user, zone: "Batches", over: exchange) }
        let seconds = options.isQuick ? 1.0 : 4.0
        var next = 0
        var processor: [Double] = []
        var expected = Int(seconds * 40_000 / 200)
        for round in 0...rounds {
            // Bodies are built before the measurement.
            let first = next
            var bodies = (0..<expected).map { template.request(first: first + $0 * 200) }[...]
            next += expected * 200
            let before = cloud.processorSeconds
            let load = try Load.run(exchange, seconds: seconds) { _ in bodies.popFirst() }
            let used = cloud.processorSeconds - before
            let rows = try sqlite.rowsPerSecond(seconds: seconds, rowsPerTransaction: 200)
            // The first round warms up and determines the number of bodies of the others.
            guard round > 0 else {
                expected = max(40, Int(seconds * load.rate * 2))
                continue
            }
            comparison.measured.append(load.rate * 200)
            comparison.yardstick.append(rows)
            processor.append(used / Double(load.requests * 200) * 1e6)
        }
        comparison.remarks.append(
            "8 connections; server processor time \(Int(Comparison.median(processor))) µs a record")
        return comparison
    }

    /// Removes the indexes of all fields. A first record creates their type.
    func removeIndexes(
        on cloud: CloudProcess, by user: SignedInUser, zone: String, over exchange: RawExchange
    ) throws {
        _ = try ask(exchange, BatchTemplate(user, zone: zone, count: 1).request(first: 999_999_999))
        for field in ["title", "count", "date"] { try cloud.run("schema", "index", Self.container, "Bench", field) }
    }

    /// Measures lookups of one record against a JSON echo of the web framework.
    func lookups() throws -> Comparison {
        var comparison = Comparison(
            id: "b", title: "lookups of one record / bare Hummingbird Codable echo of 1 KiB", unit: "requests/s",
            bound: .atLeast, target: 0.90)
        let (cloud, user) = try cloud()
        defer { cloud.end() }
        let echo = try EchoProcess()
        try makeZone("Lookups", on: cloud, by: user)
        let count = options.isQuick ? 2_000 : 20_000
        try fill("Lookups", count: count, by: user, port: cloud.port)
        let requests = (0..<1000).map { user.lookup([Payload.name($0 * 7919 % count)], zone: "Lookups") }
        let exchange = try RawExchange(port: cloud.port, connections: 64)
        let echoExchange = try RawExchange(port: echo.port, connections: 64)
        let seconds = options.isQuick ? 1.0 : 4.0
        var next = 0
        var (processor, echoProcessor): ([Double], [Double]) = ([], [])
        for round in 0...rounds {
            let before = cloud.processorSeconds
            let load = try Load.run(exchange, seconds: seconds) { _ in
                next = (next + 1) % requests.count
                return requests[next]
            }
            let used = cloud.processorSeconds - before
            let echoBefore = echo.processorSeconds
            let bare = try Load.run(echoExchange, seconds: seconds) { _ in EchoProcess.request }
            guard round > 0 else { continue }
            comparison.measured.append(load.rate)
            comparison.yardstick.append(bare.rate)
            processor.append(used / Double(load.requests) * 1e6)
            echoProcessor.append((echo.processorSeconds - echoBefore) / Double(bare.requests) * 1e6)
        }
        comparison.remarks.append(
            "64 connections; server processor time \(Int(Comparison.median(processor))) µs a request, echo "
                + "\(Int(Comparison.median(echoProcessor))) µs")
        return comparison
    }

    /// Measures fetching all changes of a large zone against a small one.
    func changes() throws -> Comparison {
        let large = options.isQuick ? 10_000 : 100_000
        var comparison = Comparison(
            id: "c", title: "reading all changes of a zone of \(large) records / of 1,000, median time a record",
            unit: "µs a record", bound: .atMost, target: 1.05)
        let (cloud, user) = try cloud()
        defer { cloud.end() }
        try makeZone("Small", on: cloud, by: user)
        try makeZone("Large", on: cloud, by: user)
        try fill("Small", count: 1_000, by: user, port: cloud.port)
        try fill("Large", count: large, by: user, port: cloud.port)
        let exchange = try RawExchange(port: cloud.port, connections: 1)
        var (early, late): ([Double], [Double]) = ([], [])
        for round in 0...rounds {
            var many = FeedReader(zone: "Large", user: user)
            var fewTimes: [Double] = []
            while !many.isAtEnd {
                // Pages of both alternate, so that other load of the machine affects both.
                for _ in 0..<25 where !many.isAtEnd { try many.readPage(exchange) }
                var few = FeedReader(zone: "Small", user: user)
                while !few.isAtEnd { try few.readPage(exchange) }
                try few.expect(1_000)
                fewTimes += few.times
            }
            try many.expect(large)
            guard round > 0 else { continue }
            comparison.measured.append(Comparison.median(many.times) * 1e6)
            comparison.yardstick.append(Comparison.median(fewTimes) * 1e6)
            early += many.times.prefix(many.times.count / 10)
            late += many.times.suffix(many.times.count / 10)
        }
        comparison.remarks.append(
            "1 connection, pages of 200; first tenth of the large zone "
                + String(format: "%.1f", Comparison.median(early) * 1e6) + " µs a record, last tenth "
                + String(format: "%.1f", Comparison.median(late) * 1e6) + " µs")
        return comparison
    }

    /// Measures saving one record in a large zone against an empty one on another server.
    func saves() throws -> Comparison {
        let large = options.isQuick ? 20_000 : 1_000_000
        var comparison = Comparison(
            id: "d", title: "saving one record in a zone of \(large) records / in an empty one, median time",
            unit: "µs", bound: .atMost, target: 1.05)
        let (full, fullUser) = try cloud()
        defer { full.end() }
        let (empty, emptyUser) = try cloud()
        defer { empty.end() }
        try makeZone("Saves", on: full, by: fullUser)
        try makeZone("Saves", on: empty, by: emptyUser)
        let filling = Moment.now
        // Small records with the same fields, since only their number matters.
        try fill("Saves", count: large, by: fullUser, port: full.port, payload: "AAAA")
        comparison.remarks.append(
            "1 connection, 2 servers; filling took \(Int(Moment.now.seconds(since: filling))) s")
        try alternateSaves(&comparison, on: [(full, fullUser), (empty, emptyUser)])
        return comparison
    }

    /// Measures the median times of saves on two servers with a zone "Saves". They alternate, so that other load of the machine affects both.
    func alternateSaves(_ comparison: inout Comparison, on sides: [(cloud: CloudProcess, user: SignedInUser)]) throws {
        let exchanges = try sides.map { try RawExchange(port: $0.cloud.port, connections: 1) }
        let count = options.isQuick ? 50 : 400
        for round in 0...rounds {
            var times = [[Double]](repeating: [], count: sides.count)
            for turn in 0..<count {
                let record = 500_000_000 + round * count + turn
                for side in sides.indices {
                    times[side].append(try timeOfSave(record, by: sides[side].user, over: exchanges[side]))
                }
            }
            guard round > 0 else { continue }
            comparison.measured.append(Comparison.median(times[0]) * 1e6)
            comparison.yardstick.append(Comparison.median(times[1]) * 1e6)
        }
    }

    /// Measures one save.
    ///
    /// - Returns: The time in seconds.
    func timeOfSave(
        _ record: Int, by user: SignedInUser, over exchange: RawExchange, zone: String = "Saves"
    ) throws -> Double {
        let request = user.modify([Payload.operation(record)], zone: zone)
        let sent = Moment.now
        _ = try ask(exchange, request)
        return Moment.now.seconds(since: sent)
    }

    func makeZone(_ zone: String, on cloud: CloudProcess, by user: SignedInUser) throws {
        _ = try ask(try RawExchange(port: cloud.port, connections: 1), user.makeZone(zone))
    }
}
