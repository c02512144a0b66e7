import CloudUnderTest
import Foundation

/// Measurements of the group commit for concurrent clients.
extension Bench {
    /// Measures single saves of many clients against those of one, on the local disk.
    func clients() throws -> Comparison {
        var comparison = try clients(
            Comparison(
                id: "e", title: "single saves of 64 clients / of one client", unit: "saves/s", bound: .atLeast,
                target: 10))
        comparison.remarks.append("this disk syncs in \(Int(try DiskSync.median(in: folder) * 1e6)) µs")
        return comparison
    }

    /// Measures the same on a disk whose syncs take 1 ms more.
    func clientsOfMillisecondDisk() throws -> Comparison { try clients(onDiskSlowerBy: 1, id: "e1") }

    /// Measures the same on a disk whose syncs take 5 ms more.
    func clientsOfSlowDisk() throws -> Comparison { try clients(onDiskSlowerBy: 5, id: "e5") }

    /// Measures many clients against one without saves: an echo of the web framework.
    func clientsOfEcho() throws -> Comparison {
        var comparison = Comparison(
            id: "e0", title: "a bare Hummingbird echo for 64 clients / for one client", unit: "requests/s",
            bound: .atLeast, target: 0)
        let echo = try EchoProcess()
        try alternate(&comparison, port: echo.port, request: { EchoProcess.request }, crowd: { try $0() })
        return comparison
    }

    private func clients(onDiskSlowerBy milliseconds: Int, id: String) throws -> Comparison {
        try clients(
            Comparison(
                id: id, title: "the same, each sync of the disk taking \(milliseconds) ms more", unit: "saves/s",
                bound: .atLeast, target: 10),
            environment: try DiskSync.slower(byMicroseconds: milliseconds * 1000))
    }

    private func clients(_ comparison: Comparison, environment: [String: String] = [:]) throws -> Comparison {
        var comparison = comparison
        let (cloud, user) = try cloud(environment: environment)
        defer { cloud.end() }
        try makeZone("Clients", on: cloud, by: user)
        let template = BatchTemplate(user, zone: "Clients", count: 1)
        var next = 0
        var (processor, shared): ([Double], [Double]) = ([], [])
        try alternate(&comparison, port: cloud.port) {
            defer { next += 1 }
            return template.request(first: next)
        } crowd: { run in
            let (seconds, count) = (cloud.processorSeconds, try commits(of: cloud))
            let load = try run()
            processor.append((cloud.processorSeconds - seconds) / Double(load.requests) * 1e6)
            shared.append(Double(load.requests) / (try commits(of: cloud) - count))
            return load
        }
        comparison.remarks.append(
            "1 record of 1 KiB a request, every save on its own; with 64 clients server processor time "
                + "\(Int(Comparison.median(processor))) µs a save, \(Int(Comparison.median(shared))) saves a commit")
        return comparison
    }

    /// Runs the load of 64 clients and of one client alternately.
    ///
    /// - Parameter crowd: A function that runs the load of the 64 clients and records its cost.
    private func alternate(
        _ comparison: inout Comparison, port: UInt16, request: @escaping () -> RawRequest,
        crowd: (_ run: () throws -> Load) throws -> Load
    ) throws {
        let one = try RawExchange(port: port, connections: 1)
        let many = try RawExchange(port: port, connections: 64)
        let seconds = options.isQuick ? 1.0 : 3.0
        func load(_ exchange: RawExchange) throws -> Load {
            try Load.run(exchange, seconds: seconds) { _ in request() }
        }
        // Both warm up.
        for exchange in [many, one] { _ = try load(exchange) }
        for _ in 0..<rounds {
            comparison.measured.append(try crowd { try load(many) }.rate)
            comparison.yardstick.append(try load(one).rate)
        }
    }

    /// Returns the number of commits in the server's metrics.
    private func commits(of cloud: CloudProcess) throws -> Double {
        let page = try ask(try RawExchange(port: cloud.port, connections: 1), .get("/metrics")).text
        guard let line = page.split(separator: "\n").first(where: { $0.hasPrefix("welkin_commits_total ") }),
            let count = line.split(separator: " ").last.flatMap({ Double($0) })
        else { throw BenchError("the metrics do not count commits") }
        return count
    }
}
