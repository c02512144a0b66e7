import CloudUnderTest
import Foundation

/// What writers lose to crowds of other clients.
extension Bench {
    /// Measures single saves while 10,000 devices of as many users come back at once after the server was restarted, against saves while
    /// none of them is there.
    func returningDevices() throws -> Comparison {
        var comparison = Comparison(
            id: "r", title: "single saves of 8 connections while 10,000 devices return at once / without them",
            unit: "saves/s", bound: .atLeast, target: 0.98)
        raiseFileLimit()
        let count = options.isQuick ? 200 : 10_000
        let cloud = try CloudProcess(binary: welkin, in: folder, arguments: Crowd.serveOptions)
        defer { cloud.end() }
        let crowd = try Crowd(on: cloud, people: count, listeners: 1, idle: 0, savers: 8)
        var saves = LoneSaves(crowd.people[0].user)
        let seconds = options.isQuick ? 1.0 : 10.0
        var polls: [Double] = []
        for round in 0...min(rounds, 3) {
            try cloud.restart()
            let alone = try RawExchange(port: cloud.port, connections: 8)
            let quiet = try saves.rate(over: alone, seconds: seconds)
            try cloud.restart()
            try crowd.reconnect(port: cloud.port)
            crowd.listen()
            var (done, notified) = (0, 0)
            let end = Moment.now.advanced(bySeconds: seconds)
            for connection in 0..<crowd.saverCount { crowd.exchange.send(saves.next(), on: connection) }
            while let event = try crowd.next(until: end) {
                switch event {
                case .saved(let connection):
                    done += 1
                    crowd.exchange.send(saves.next(), on: connection)
                case .notified, .nothing: notified += 1
                }
            }
            guard round > 0 else { continue }
            comparison.measured.append(Double(done) / seconds)
            comparison.yardstick.append(quiet)
            polls.append(Double(notified))
        }
        comparison.remarks.append(
            "\(count) devices; \(Int(Comparison.median(polls))) of their polls were answered in the \(Int(seconds)) s")
        return comparison
    }

    /// Measures single saves while 256 connections of other users read a large zone again and again, against saves alone.
    func greedyReaders() throws -> Comparison {
        var comparison = Comparison(
            id: "r+", title: "single saves of 8 connections beside 256 greedy readers / alone", unit: "saves/s",
            bound: .atLeast, target: 0.90)
        raiseFileLimit()
        let cloud = try CloudProcess(binary: welkin, in: folder, arguments: Crowd.serveOptions)
        defer { cloud.end() }
        let crowd = try Crowd(on: cloud, people: options.isQuick ? 4 : 32, listeners: 1, idle: 0, savers: 1)
        let setup = try RawExchange(port: cloud.port, connections: 1)
        let readers = crowd.people.dropFirst().map(\.user)
        for reader in readers {
            for first in stride(from: 0, to: 2_000, by: 200) {
                _ = try ask(setup, BatchTemplate(reader, zone: "Z", count: 200).request(first: first))
            }
        }
        var saves = LoneSaves(crowd.people[0].user)
        let requests = readers.map { $0.changes(of: "Z", since: nil, limit: 200) }
        let exchange = try RawExchange(port: cloud.port, connections: 8 + 256)
        let alone = try RawExchange(port: cloud.port, connections: 8)
        let seconds = options.isQuick ? 1.0 : 5.0
        var (pages, shed): ([Double], [Double]) = ([], [])
        for round in 0...rounds {
            let quiet = try saves.rate(over: alone, seconds: seconds)
            for connection in 0..<8 { exchange.send(saves.next(), on: connection) }
            for reader in 0..<256 { exchange.send(requests[reader % requests.count], on: 8 + reader) }
            var (done, read, refused) = (0, 0, 0)
            let end = Moment.now.advanced(bySeconds: seconds)
            while exchange.awaited > 0, let event = exchange.next(until: end.advanced(bySeconds: 30)) {
                guard case .answered(let status) = event.outcome else { throw BenchError("\(event.outcome)") }
                let isOver = Moment.now >= end
                if event.connection < 8 {
                    guard status == 200 else { throw BenchError("a save was answered with \(status)") }
                    if isOver { continue }
                    done += 1
                    exchange.send(saves.next(), on: event.connection)
                } else {
                    if isOver { continue }
                    if status == 200 { read += 1 } else { refused += 1 }
                    exchange.send(requests[(event.connection - 8) % requests.count], on: event.connection)
                }
            }
            guard round > 0 else { continue }
            comparison.measured.append(Double(done) / seconds)
            comparison.yardstick.append(quiet)
            pages.append(Double(read) / seconds)
            shed.append(Double(refused) / seconds)
        }
        comparison.remarks.append(
            "\(Int(Comparison.median(pages))) pages of 200 records a second were read, "
                + "\(Int(Comparison.median(shed))) requests a second refused")
        return comparison
    }

    /// Measures notifications at the highest rate of saves, with 10,000 devices of as many users.
    func crowdedNotifications() throws -> [Figure] {
        raiseFileLimit()
        let people = options.isQuick ? 100 : 10_000
        let cloud = try CloudProcess(binary: welkin, in: folder, arguments: Crowd.serveOptions)
        defer { cloud.end() }
        let savers = 64
        let crowd = try Crowd(on: cloud, people: people, listeners: 1, idle: 0, savers: savers)
        crowd.listen()
        try crowd.idle(seconds: 5)
        var saves = Saves(crowd)
        try saves.run(options.isQuick ? 100 : 2_000, atOnce: savers)
        saves.times = []
        let before = (Moment.now, cloud.processorSeconds)
        let count = options.isQuick ? 400 : 20_000
        try saves.run(count, atOnce: savers)
        let rate = Double(count) / Moment.now.seconds(since: before.0)
        let processor = (cloud.processorSeconds - before.1) / Double(count) * 1e6
        return [
            Figure(
                id: "n4",
                title: "notifications of \(crowd.deviceCount) devices of as many users, \(savers) savers, p99",
                unit: "ms", target: 50, value: Self.percentile(saves.times, 0.99) * 1e3,
                remarks: [
                    String(
                        format: "%.0f saves/s; p50 %.2f ms, longest %.2f ms", rate,
                        Self.percentile(saves.times, 0.5) * 1e3, (saves.times.max() ?? 0) * 1e3)
                ]),
            Figure(
                id: "n4", title: "the same, server processor time of a save, its notification and the next poll",
                unit: "µs", target: 100, value: processor),
        ]
    }
}

/// Saves of one user after the other, each of a new record.
private struct LoneSaves {
    private let template: BatchTemplate
    private var number = 0

    init(_ user: SignedInUser) { template = BatchTemplate(user, zone: "Z", count: 1) }

    mutating func next() -> RawRequest {
        number += 1
        return template.request(first: number)
    }

    /// Returns the saves per second of an exchange that does nothing else.
    mutating func rate(over exchange: RawExchange, seconds: Double) throws -> Double {
        let load = try Load.run(exchange, seconds: seconds) { _ in next() }
        return load.rate
    }
}
