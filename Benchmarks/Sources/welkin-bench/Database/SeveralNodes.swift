import CloudUnderTest
import Foundation

/// Several nodes of one cloud.
extension Bench {
    /// Nodes that are measured together, with users who each have a connection to one of them.
    private struct Side {
        let nodes: [CloudProcess]
        let users: [SignedInUser]
        let templates: [BatchTemplate]
        /// The records that were saved so far, of each user.
        var saved: Int

        init(_ nodes: [CloudProcess], _ users: [SignedInUser]) {
            self.nodes = nodes
            self.users = users
            templates = users.map { BatchTemplate($0, zone: "Z", count: 1) }
            saved = 2
        }

        /// Returns the processor time for a request in microseconds; half of them are saves, half look-ups.
        mutating func cost(requests count: Int) throws -> Double {
            let exchange = try RawExchange(ports: nodes.map(\.port), connections: users.count)
            func processorSeconds() -> Double { nodes.map(\.processorSeconds).reduce(0, +) }
            let before = processorSeconds()
            var (left, next) = (count, saved)
            let (users, templates) = (users, templates)
            _ = try Load.run(exchange) { connection in
                guard left > 0 else { return nil }
                left -= 1
                next += 1
                return left % 2 == 0
                    ? templates[connection].request(first: next)
                    : users[connection].lookup([Payload.name(1)], zone: "Z")
            }
            saved = next
            return (processorSeconds() - before) / Double(count) * 1e6
        }
    }

    /// Measures the processor time that the nodes of one cloud need for a request, against that of as many clouds with one node each: the processors
    /// and the database have as much to do on either side.
    func nodes() throws -> [Comparison] {
        let server = try DatabaseServer()
        defer { server.end() }
        let clients = 8
        let apart = try (0..<3).map { try node(on: server, schema: "apart\($0)") }
        let first = try node(on: server)
        let together = try [first] + (0..<2).map { _ in try node(on: server, besides: first) }
        defer { for node in apart + together { node.end() } }
        func users(_ count: Int, on cloud: CloudProcess) throws -> [SignedInUser] {
            let crowd = try Crowd(on: cloud, people: count, listeners: 0, idle: 0, savers: count)
            for person in crowd.people {
                _ = try ask(crowd.exchange, BatchTemplate(person.user, zone: "Z", count: 1).request(first: 1))
            }
            return crowd.people.map(\.user)
        }
        let apartUsers = try apart.map { try users(clients, on: $0) }
        let togetherUsers = try users(3 * clients, on: first)
        return try [2, 3].map { number in
            // A connection is made to one port after the other.
            let alternating = (0..<number * clients).map { apartUsers[$0 % number][$0 / number] }
            var sides = [
                Side(Array(together.prefix(number)), Array(togetherUsers.prefix(number * clients))),
                Side(Array(apart.prefix(number)), alternating),
            ]
            var comparison = Comparison(
                id: "qn",
                title:
                    "processor time of \(number) nodes for a request, half of them saves / of \(number) clouds with a node each",
                unit: "µs", bound: .atMost, target: 1.05)
            let count = number * (options.isQuick ? 400 : 3_000)
            for index in sides.indices { sides[index].saved += number * 1_000_000 }
            for round in 0...rounds {
                let costs = try sides.indices.map { try sides[$0].cost(requests: count) }
                guard round > 0 else { continue }
                comparison.measured.append(costs[0])
                comparison.yardstick.append(costs[1])
            }
            comparison.remarks.append("\(clients) users at each node, one connection each")
            return comparison
        }
    }

    /// Measures the time from the answer to a save at one node until a device that waits at another one is notified.
    func hints() throws -> [Figure] {
        let server = try DatabaseServer()
        defer { server.end() }
        let first = try node(on: server)
        defer { first.end() }
        let second = try node(on: server, besides: first)
        defer { second.end() }
        let crowd = try Crowd(
            on: first, people: 20, listeners: 2, idle: 0, savers: 1, listeningAt: second.port)
        crowd.listen()
        try crowd.idle(seconds: 2)
        var saves = Saves(crowd)
        try saves.run(options.isQuick ? 20 : 100, atOnce: 1)
        saves.times = []
        try saves.run(options.isQuick ? 100 : 2_000, atOnce: 1)
        return [(0.50, 5.0), (0.99, 20.0)].map { part, target in
            Figure(
                id: "qh",
                title:
                    "from the answer to a save at one node to the notification of a device at another, p\(Int(part * 100))",
                unit: "ms", target: target, value: Self.percentile(saves.times, part) * 1e3,
                remarks: ["20 users with two devices that wait, one save after the other"])
        }
    }
}
