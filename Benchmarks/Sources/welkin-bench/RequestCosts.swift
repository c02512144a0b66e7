import CloudUnderTest

/// The processor time that the server needs for requests of each kind.
extension Bench {
    /// Measures fixed numbers of requests. With a second server, given by `--against`, the two alternate, and the remarks compare them.
    func requestCosts() throws -> [Figure] {
        let sides = try ([welkin] + (options.against.map { [$0] } ?? [])).map { try CostSide(self, welkin: $0) }
        defer { for side in sides { side.cloud.end() } }
        for round in 0...rounds {
            // The first round warms up.
            for side in sides { try side.run(isMeasured: round > 0) }
        }
        return sides[0].costs.map { cost in
            let times = sides[0].times[cost] ?? []
            let remarks = sides.dropFirst().map { other in
                let others = other.times[cost] ?? []
                let ratios = zip(times, others).map { $0 / $1 }
                return "against \(Self.text(Comparison.median(others))) of the other server, ratio "
                    + "\(Self.text(Comparison.median(ratios))) (rounds: "
                    + ratios.map(Self.text).joined(separator: " ") + ")"
            }
            return Figure(
                id: "c+", title: "processor time of " + cost.title, unit: "µs", target: cost.target,
                value: Comparison.median(times), remarks: Array(remarks))
        }
    }

    private static func text(_ value: Double) -> String { String(format: "%.2f", value) }
}

/// The kinds of requests that are measured.
private enum RequestCost: String, CaseIterable {
    case save, batchRecord, lookup, changedRecord, emptyPage

    var title: String {
        switch self {
        case .save: "a save of one record, 16 connections"
        case .batchRecord: "a record of a batch of 200, indexed as in development, 8 connections"
        case .lookup: "a lookup of one record, 64 connections"
        case .changedRecord: "a record of a page of 200 changes, 1 connection"
        case .emptyPage: "a request for changes when there are none, 16 connections"
        }
    }

    /// Microseconds.
    var target: Double {
        switch self {
        case .save: 100
        case .batchRecord: 25
        case .lookup: 45
        case .changedRecord: 2
        case .emptyPage: 35
        }
    }
}

/// A server under measurement, with a zone of records.
private final class CostSide {
    let cloud: CloudProcess
    let costs: [RequestCost]
    private(set) var times: [RequestCost: [Double]] = [:]
    private let user: SignedInUser
    private let one, eight, sixteen, sixtyFour: RawExchange
    private let isQuick: Bool
    private let token: String
    /// The number of the next record to be saved.
    private var next = 0

    /// Records of the zone that is read.
    private static let heldCount = 2_000

    init(_ bench: Bench, welkin: String) throws {
        let wanted = bench.options.costs
        costs = RequestCost.allCases.filter { wanted.isEmpty || wanted.contains($0.rawValue) }
        cloud = try CloudProcess(binary: welkin, in: bench.folder)
        user = try cloud.signIn(container: Bench.container, profile: "costs")
        isQuick = bench.options.isQuick
        one = try RawExchange(port: cloud.port, connections: 1)
        eight = try RawExchange(port: cloud.port, connections: 8)
        sixteen = try RawExchange(port: cloud.port, connections: 16)
        sixtyFour = try RawExchange(port: cloud.port, connections: 64)
        for zone in ["Saves", "Batches", "Held"] { _ = try bench.ask(one, user.makeZone(zone)) }
        let template = BatchTemplate(user, zone: "Held", count: 200)
        for first in stride(from: 0, to: Self.heldCount, by: 200) {
            _ = try bench.ask(one, template.request(first: first))
        }
        var reader = FeedReader(zone: "Held", user: user)
        while !reader.isAtEnd { try reader.readPage(one) }
        guard let token = reader.token else { throw BenchError("the feed has no token") }
        self.token = token
    }

    func run(isMeasured: Bool) throws {
        for cost in costs {
            let (requests, units) = requests(of: cost)
            var rest = requests[...]
            let before = cloud.processorSeconds
            _ = try Load.run(exchange(of: cost)) { _ in rest.popFirst() }
            let used = cloud.processorSeconds - before
            if isMeasured { times[cost, default: []].append(used / Double(units) * 1e6) }
        }
    }

    private func exchange(of cost: RequestCost) -> RawExchange {
        switch cost {
        case .save, .emptyPage: sixteen
        case .batchRecord: eight
        case .lookup: sixtyFour
        case .changedRecord: one
        }
    }

    /// Returns requests, made beforehand, and the number of units that they are.
    private func requests(of cost: RequestCost) -> ([RawRequest], units: Int) {
        let scale = isQuick ? 10 : 1
        switch cost {
        case .save:
            let template = BatchTemplate(user, zone: "Saves", count: 1)
            let count = 6_000 / scale
            return ((0..<count).map { _ in template.request(first: take(1)) }, count)
        case .batchRecord:
            let template = BatchTemplate(user, zone: "Batches", count: 200)
            let count = 160 / scale
            return ((0..<count).map { _ in template.request(first: take(200)) }, count * 200)
        case .lookup:
            let count = 20_000 / scale
            let lookups = (0..<1000).map { user.lookup([Payload.name($0 * 7919 % Self.heldCount)], zone: "Held") }
            return ((0..<count).map { lookups[$0 % lookups.count] }, count)
        case .changedRecord:
            let count = 600 / scale
            return (Array(repeating: user.changes(of: "Held", since: nil, limit: 200), count: count), count * 200)
        case .emptyPage:
            let count = 20_000 / scale
            return (Array(repeating: user.changes(of: "Held", since: token, limit: 200), count: count), count)
        }
    }

    private func take(_ count: Int) -> Int {
        defer { next += count }
        return next
    }
}
