import CloudUnderTest
import Foundation

/// Several nodes of one cloud.
extension Bench {
    /// Measures the processor time that nodes need for a request, three of them against one, each with as many requests a second: on machines of their
    /// own none would wait for the processors of another.
    func nodes() throws -> [Comparison] {
        let server = try DatabaseServer()
        defer { server.end() }
        let first = try node(on: server)
        var nodes = [first]
        defer { for node in nodes { node.end() } }
        // As many for each node, as in a cloud that grows.
        let clients = 8
        let crowd = try Crowd(on: first, people: 3 * clients, listeners: 0, idle: 0, savers: 3 * clients)
        let templates = crowd.people.map { BatchTemplate($0.user, zone: "Z", count: 1) }
        let count = options.isQuick ? 300 : 1_500
        let perSecond = 300.0
        var next = 0
        func cost(ofNodes number: Int) throws -> Double {
            let exchange = try RawExchange(ports: nodes.prefix(number).map(\.port), connections: number * clients)
            let count = number * count
            func processorSeconds() -> Double { nodes.prefix(number).map(\.processorSeconds).reduce(0, +) }
            let before = processorSeconds()
            _ = try Load.run(exchange, requests: count, perSecond: Double(number) * perSecond) { connection in
                next += 1
                let user = crowd.people[connection].user
                return (next / (number * clients) + connection) % 2 == 0
                    ? templates[connection].request(first: next) : user.lookup([Payload.name(1)], zone: "Z")
            }
            return (processorSeconds() - before) / Double(count) * 1e6
        }
        for template in templates { _ = try ask(crowd.exchange, template.request(first: 1)) }
        _ = try cost(ofNodes: 1)
        var times: [Int: [Double]] = [:]
        for _ in 0..<rounds {
            for number in [1, 2, 3] {
                while nodes.count > number { nodes.removeLast().end() }
                while nodes.count < number {
                    nodes.append(try node(on: server, besides: first))
                }
                // Warms up those that have just started.
                _ = try cost(ofNodes: number)
                times[number, default: []].append(try cost(ofNodes: number))
            }
        }
        return [2, 3].map { number in
            var comparison = Comparison(
                id: "qn", title: "processor time of \(number) nodes for a request, half of them saves / of one node",
                unit: "µs", bound: .atMost, target: 1.05)
            comparison.measured = times[number] ?? []
            comparison.yardstick = times[1] ?? []
            comparison.remarks.append(
                "\(clients) users at each node, one connection each, \(Int(perSecond)) requests a second")
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
