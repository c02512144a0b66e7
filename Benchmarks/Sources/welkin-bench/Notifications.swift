import CloudUnderTest
import Foundation

extension Bench {
    /// Measures the time from a save's answer to another device's notification, for consecutive and concurrent saves.
    func notifications() throws -> [Figure] {
        raiseFileLimit()
        let (people, listeners, idle) = options.isQuick ? (25, 2, 2) : (250, 2, 2)
        let cloud = try CloudProcess(binary: welkin, in: folder, arguments: Crowd.serveOptions)
        defer { cloud.end() }
        let savers = 16
        let crowd = try Crowd(on: cloud, people: people, listeners: listeners, idle: idle, savers: savers)
        crowd.listen()
        try crowd.idle(seconds: 2)
        var saves = Saves(crowd)
        // The first saves create the type.
        try saves.run(options.isQuick ? 50 : 300, atOnce: 1)
        saves.times = []
        try saves.run(options.isQuick ? 200 : 2_000, atOnce: 1)
        let alone = saves.times
        saves.times = []
        let before = (Moment.now, cloud.processorSeconds)
        try saves.run(options.isQuick ? 400 : 6_000, atOnce: savers)
        let crowded = saves.times
        let seconds = Moment.now.seconds(since: before.0)
        let rate = Double(crowded.count / listeners) / seconds
        let processor = (cloud.processorSeconds - before.1) / Double(crowded.count / listeners) * 1e6
        let about = "\(crowd.deviceCount) connected devices of \(people) users"
        return [
            Figure(
                id: "n", title: "from a save's answer to another device's notification, one save after the other, p50",
                unit: "ms", target: 5, value: Self.percentile(alone, 0.50) * 1e3,
                remarks: ["\(about); \(alone.count) notifications"]),
            Figure(
                id: "n", title: "the same, p99", unit: "ms", target: 50, value: Self.percentile(alone, 0.99) * 1e3,
                remarks: ["longest \(String(format: "%.2f", (alone.max() ?? 0) * 1e3)) ms"]),
            Figure(
                id: "n+", title: "the same while \(savers) connections save all the time, p50", unit: "ms", target: 5,
                value: Self.percentile(crowded, 0.50) * 1e3,
                remarks: [
                    "\(Int(rate)) saves/s, each notified to \(listeners) devices; server processor time \(Int(processor)) µs a save"
                ]),
            Figure(
                id: "n+", title: "the same, p99", unit: "ms", target: 50, value: Self.percentile(crowded, 0.99) * 1e3,
                remarks: ["longest \(String(format: "%.2f", (crowded.max() ?? 0) * 1e3)) ms"]),
        ]
    }

    /// Measures the server's memory while many devices wait.
    func idleConnections() throws -> [Figure] {
        raiseFileLimit()
        let (people, each) = options.isQuick ? (20, 25) : (200, 50)
        let cloud = try CloudProcess(binary: welkin, in: folder, arguments: Crowd.serveOptions)
        defer { cloud.end() }
        let start = cloud.residentBytes
        let crowd = try Crowd(on: cloud, people: people, listeners: each, idle: 0, savers: 1)
        let ready = cloud.residentBytes
        crowd.listen()
        var largest = 0
        // Longer than a long poll: every device has polled again at least once.
        for _ in 0..<(options.isQuick ? 5 : 40) {
            try crowd.idle(seconds: 1)
            largest = max(largest, cloud.residentBytes)
        }
        func mebibytes(_ bytes: Int) -> Double { Double(bytes) / 1_048_576 }
        return [
            Figure(
                id: "w", title: "memory of a server with \(crowd.deviceCount) idle long polls, at most", unit: "MiB",
                target: 500 / 1.048576, value: mebibytes(largest),
                remarks: [
                    "\(Int(mebibytes(start))) MiB at the start, \(Int(mebibytes(ready))) MiB before they connected; "
                        + String(format: "%.1f", Double(largest - ready) / Double(crowd.deviceCount) / 1024)
                        + " KiB a connection"
                ])
        ]
    }

    static func percentile(_ values: [Double], _ part: Double) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
    }

    /// Raises the limit of descriptors for the connections, also of the server, which inherits it.
    func raiseFileLimit() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

/// Saves records and measures the times until the listeners are notified.
struct Saves {
    private let crowd: Crowd
    /// The seconds until each notification.
    var times: [Double] = []
    private var next = 0

    init(_ crowd: Crowd) { self.crowd = crowd }

    private struct Flight {
        var connection: Int
        var answered: Moment?
        /// The devices that are not yet notified.
        var waiting: Set<Int>

        /// The times of the other devices' notifications.
        var notified: [Moment] = []
    }

    mutating func run(_ count: Int, atOnce: Int) throws {
        var flights: [Int: Flight] = [:]
        var persons: [Int: Int] = [:]
        for (index, person) in crowd.people.enumerated() { for device in person.listeners { persons[device] = index } }
        var free = Array(0..<atOnce)
        var (sent, done) = (0, 0)
        while done < count {
            while sent < count, let connection = free.popLast() {
                let person = next % crowd.people.count
                guard flights[person] == nil else {
                    free.append(connection)
                    break
                }
                let user = crowd.people[person].user
                flights[person] = Flight(connection: connection, waiting: Set(crowd.people[person].listeners))
                crowd.exchange.send(user.modify([Payload.operation(next)], zone: "Z"), on: connection)
                next += 1
                sent += 1
            }
            guard let event = try crowd.next(until: .now.advanced(bySeconds: 30)) else {
                throw BenchError("a notification did not arrive within 30 s")
            }
            let now = Moment.now
            let person: Int
            switch event {
            case .nothing: continue
            case .saved(let connection):
                guard
                    let found = flights.first(where: { $0.value.connection == connection && $0.value.answered == nil })
                else { continue }
                person = found.key
                flights[person]?.answered = now
                free.append(connection)
            case .notified(let device):
                guard let found = persons[device] else { continue }
                person = found
                if flights[person]?.waiting.remove(device) != nil { flights[person]?.notified.append(now) }
            }
            if let flight = flights[person], let answered = flight.answered, flight.waiting.isEmpty {
                // A notification may overtake the answer.
                times += flight.notified.map { max(0, $0.seconds(since: answered)) }
                flights[person] = nil
                done += 1
            }
        }
    }
}
