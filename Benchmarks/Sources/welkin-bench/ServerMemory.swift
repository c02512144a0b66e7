import CloudUnderTest
import Foundation

/// The memory of a server that stores much.
extension Bench {
    /// Measures the resident memory of a server with a million records of a thousand users: when nothing is asked of it, and while 64 connections save,
    /// look up and read changes.
    func serverMemory() throws -> [Figure] {
        let people = options.isQuick ? 20 : 1000
        let batchSize = 200
        let batches = max((options.records ?? people * 1000) / people / batchSize, 1)
        let cloud = try CloudProcess(binary: welkin, in: folder, arguments: Crowd.serveOptions)
        defer { cloud.end() }
        let crowd = try Crowd(on: cloud, people: people, listeners: 0, idle: 0, savers: 64)
        var next = 0
        var template: (person: Int, batch: BatchTemplate)?
        _ = try Load.run(crowd.exchange) { _ in
            let (person, batch) = next.quotientAndRemainder(dividingBy: batches)
            guard person < people else { return nil }
            next += 1
            if template?.person != person {
                template = (person, BatchTemplate(crowd.people[person].user, zone: "Z", count: batchSize))
            }
            return template?.batch.request(first: batch * batchSize)
        }
        // The server gives memory back after some seconds without work.
        for _ in 0..<(options.isQuick ? 8 : 30) { try crowd.idle(seconds: 1) }
        let idle = cloud.residentBytes
        var largest = 0
        var count = 0
        for _ in 0..<(options.isQuick ? 3 : 20) {
            _ = try Load.run(crowd.exchange, seconds: 1) { _ in
                count += 1
                // Another user each time, so that nothing is remembered for long.
                let user = crowd.people[count &* 7919 % people].user
                switch count % 3 {
                case 0: return BatchTemplate(user, zone: "Z", count: 1).request(first: 1_000_000 + count)
                case 1: return user.lookup([Payload.name(count % (batches * batchSize))], zone: "Z")
                default: return user.changes(of: "Z", since: nil, limit: 200)
                }
            }
            largest = max(largest, cloud.residentBytes)
        }
        func mebibytes(_ bytes: Int) -> Double { Double(bytes) / 1_048_576 }
        let content = "\(people * batches * batchSize) records of 1 KiB of \(people) users"
        return [
            Figure(
                id: "x", title: "memory of a server with \(content), without work", unit: "MiB",
                target: 60 / 1.048576, value: mebibytes(idle)),
            Figure(
                id: "x", title: "the same while 64 connections save, look up and read pages of 200 changes, at most",
                unit: "MiB", target: 250 / 1.048576, value: mebibytes(largest), remarks: ["\(count) requests in all"]),
        ]
    }
}
