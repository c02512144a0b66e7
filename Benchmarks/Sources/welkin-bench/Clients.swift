import CloudUnderTest
import Foundation

/// What many clients that save at the same time gain by sharing commits.
extension Bench {
    /// Single saves of many clients against those of one, on the disk at hand.
    func clients() throws -> Comparison {
        var comparison = try clients(
            Comparison(
                id: "e", title: "single saves of 64 clients / of one client", unit: "saves/s", bound: .atLeast,
                target: 10))
        comparison.remarks.append("this disk syncs in \(Int(try DiskSync.median(in: folder) * 1e6)) µs")
        return comparison
    }

    /// The same on a disk that takes a millisecond longer for each sync, and five.
    func clientsOfMillisecondDisk() throws -> Comparison { try clients(onDiskSlowerBy: 1, id: "e1") }
    func clientsOfSlowDisk() throws -> Comparison { try clients(onDiskSlowerBy: 5, id: "e5") }

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
        try expectZone("Clients", on: cloud, user)
        let one = try RawExchange(port: cloud.port, connections: 1)
        let many = try RawExchange(port: cloud.port, connections: 64)
        let seconds = options.isQuick ? 1.0 : 3.0
        let template = BatchTemplate(user, zone: "Clients", count: 1)
        var next = 0
        var processor: [Double] = []
        for round in 0...rounds {
            let before = cloud.processorSeconds
            let crowd = try Load.run(many, seconds: seconds) { _ in
                defer { next += 1 }
                return template.request(first: next)
            }
            let used = cloud.processorSeconds - before
            let alone = try Load.run(one, seconds: seconds) { _ in
                defer { next += 1 }
                return template.request(first: next)
            }
            guard round > 0 else { continue }
            comparison.measured.append(crowd.rate)
            comparison.yardstick.append(alone.rate)
            processor.append(used / Double(crowd.requests) * 1e6)
        }
        comparison.remarks.append(
            "1 record of 1 KiB a request, every save on its own; server processor time "
                + "\(Int(Comparison.median(processor))) µs a save of 64 clients")
        return comparison
    }
}
