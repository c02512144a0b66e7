import CloudUnderTest
import Foundation
import SeededChance

/// A server that is killed repeatedly under the load of several clients, and the audit of its data.
struct Trial {
    private static let zones = ["Left", "Right"]
    private static let writersPerZone = 4

    private let cloud: CloudProcess
    private let user: SignedInUser
    private let exchange: RawExchange
    private var chance: SplitMix64
    private var writers: [Writer] = []
    private var followers: [Follower] = []
    /// The followers that wait for a write, by their number.
    private var resting: Set<Int> = []
    private var kills = 0
    private var auditFaults: [String] = []
    private var auditedTokens = 0
    private let start = Moment.now

    var faults: [String] { writers.flatMap(\.faults) + followers.flatMap(\.faults) + auditFaults }
    var acknowledged: Int { writers.reduce(0) { $0 + $1.acknowledged } }

    var summary: String {
        """
        durability: \(kills) kills in \(Int(Moment.now.seconds(since: start))) s, \(acknowledged) requests acknowledged, \
        \(writers.reduce(0) { $0 + $1.ledger.unansweredDone }) unanswered ones took effect, \
        \(writers.reduce(0) { $0 + $1.ledger.unansweredUndone }) did not, \
        \(writers.reduce(0) { $0 + $1.ledger.held.count }) records, \
        \(writers.reduce(0) { $0 + $1.counted }) counted (\(writers.reduce(0) { $0 + $1.conflicts }) conflicts), \
        \(followers.reduce(0) { $0 + $1.pages }) pages followed, \(auditedTokens) tokens audited
        """
    }

    init(seed: UInt64) throws {
        chance = SplitMix64(seed: seed)
        cloud = try CloudProcess()
        user = try cloud.signIn(container: "iCloud.org.welkin.durability", profile: "durability")
        for zone in Self.zones {
            for number in 1...Self.writersPerZone {
                writers.append(Writer(name: "\(zone.lowercased())\(number)", zone: zone, seed: chance.next()))
            }
            followers.append(Follower(zone: zone, seed: chance.next()))
        }
        exchange = try RawExchange(port: cloud.port, connections: writers.count + followers.count)
        for zone in Self.zones {
            try expectSuccess(user.makeZone(zone))
            try expectSuccess(user.modify([Writer.counter(0, verb: "create", tag: nil)], zone: zone))
        }
    }

    func end() { cloud.end() }

    /// Runs the clients for a random time, kills the server and reads the answers that it had sent.
    mutating func writeUntilKilled() throws {
        resting = []
        for index in 0..<exchange.connectionCount { send(on: index) }
        // Usually a time under load, sometimes an instant after the first requests were sent.
        let period =
            chance.next(upperBound: UInt(5)) == 0
            ? Double.random(in: 0...0.02, using: &chance) : Double.random(in: 0.02...0.5, using: &chance)
        let deadline = Moment.now.advanced(bySeconds: period)
        while let event = exchange.next(until: deadline) { try take(event, goesOn: true) }
        cloud.kill()
        kills += 1
        let drained = Moment.now.advanced(bySeconds: 10)
        while exchange.awaited > 0, let event = exchange.next(until: drained) { try take(event, goesOn: false) }
    }

    /// Restarts the server on the same folder and compares its records with every client's ledger.
    mutating func restartAndReconcile() throws {
        try cloud.restart()
        try exchange.reconnect(port: cloud.port)
        for index in writers.indices {
            let names = writers[index].ledger.touched
            guard !names.isEmpty else { continue }
            writers[index].reconcile(with: try lookup(names, in: writers[index].zone))
        }
    }

    /// Reads every feed from every kept token and compares it with the ledgers.
    mutating func audit() throws {
        for index in followers.indices {
            let zone = followers[index].zone
            var truth: [String: String] = [:]
            for writer in writers where writer.zone == zone {
                for (name, held) in writer.ledger.held { truth[name] = held.tag }
            }
            truth[Writer.counterName] = try auditCounter(in: zone)
            for bookmark in followers[index].bookmarks + [followers[index].here] {
                try audit(bookmark, in: zone, truth)
            }
        }
    }

    /// Pulls from a token to the end and checks that each record occurs at most once and that the result is correct.
    private mutating func audit(_ bookmark: Follower.Bookmark, in zone: String, _ truth: [String: String]) throws {
        var bookmark = bookmark
        var seen: Set<String> = []
        var moreComing = true
        let limit = Int.random(in: 20...200, using: &chance)
        while moreComing {
            let answer = try exchange.ask(user.changes(of: zone, since: bookmark.token, limit: limit))
            let page = try ZoneChangesAnswer(answer.body)
            auditFaults += bookmark.apply(page)
            guard page.serverErrorCode == nil else { return }
            for record in page.records ?? [] where !seen.insert(record.recordName).inserted {
                auditFaults.append("\(record.recordName) came twice in one pull")
            }
            moreComing = page.moreComing == true
        }
        auditedTokens += 1
        for name in Set(truth.keys).union(bookmark.copy.keys) where truth[name] != bookmark.copy[name] {
            auditFaults.append(
                "\(zone)/\(name): the feed ends in \(bookmark.copy[name] ?? "nothing"), a lookup in "
                    + (truth[name] ?? "nothing"))
        }
        let again = try ZoneChangesAnswer(exchange.ask(user.changes(of: zone, since: bookmark.token, limit: 10)).body)
        if again.records?.isEmpty == false { auditFaults.append("a feed that had ended goes on") }
    }

    /// Checks that no increment is lost or counted twice.
    ///
    /// - Returns: The counter's change tag.
    private mutating func auditCounter(in zone: String) throws -> String? {
        let counter = try RecordsAnswer(exchange.ask(user.lookup([Writer.counterName], zone: zone)).body).records.first
        let own = writers.filter { $0.zone == zone }
        let least = own.reduce(0) { $0 + $1.counted }
        let most = least + own.reduce(0) { $0 + $1.countedPerhaps }
        guard let count = counter?.fields?.count?.value, (least...most).contains(count) else {
            auditFaults.append(
                "the counter of \(zone) is \(counter?.fields?.count?.value ?? -1), not \(least) to \(most)")
            return counter?.recordChangeTag
        }
        return counter?.recordChangeTag
    }

    private mutating func send(on index: Int) {
        let request = index < writers.count ? writers[index].next(user) : followers[index - writers.count].next(user)
        exchange.send(request, on: index)
    }

    private mutating func take(_ event: RawExchange.Event, goesOn: Bool) throws {
        let index = event.connection
        switch event.outcome {
        case .lost:
            if index < writers.count { writers[index].lose() }
        case .answered(let status) where index < writers.count:
            let next = try writers[index].take(status: status, body: exchange.body(of: index), user)
            guard goesOn else { return }
            if let next { exchange.send(next, on: index) } else { send(on: index) }
            wakeFollower(of: writers[index].zone)
        case .answered(let status):
            let number = index - writers.count
            try followers[number].take(status: status, body: exchange.body(of: index))
            guard goesOn else { return }
            if followers[number].isCaughtUp { resting.insert(number) } else { send(on: index) }
        }
    }

    private mutating func wakeFollower(of zone: String) {
        for number in followers.indices where followers[number].zone == zone && resting.remove(number) != nil {
            send(on: writers.count + number)
        }
    }

    private func lookup(_ names: [String], in zone: String) throws -> [String: Ledger.Held] {
        let answer = try exchange.ask(user.lookup(names, zone: zone))
        guard answer.status == 200 else {
            throw TrialError(
                reason: "a lookup failed after a restart: HTTP \(answer.status) \(answer.text.prefix(300))")
        }
        var found: [String: Ledger.Held] = [:]
        for record in try RecordsAnswer(answer.body).records {
            if let mark = record.fields?.mark?.value, let tag = record.recordChangeTag {
                found[record.recordName] = .present(mark: mark, tag: tag)
            } else {
                found[record.recordName] = .absent
            }
        }
        return found
    }

    private func expectSuccess(_ request: RawRequest) throws {
        let answer = try exchange.ask(request)
        guard answer.status == 200, !answer.text.contains("serverErrorCode") else {
            throw TrialError(reason: "the trial cannot begin: HTTP \(answer.status) \(answer.text.prefix(300))")
        }
    }
}

struct TrialError: Error, CustomStringConvertible {
    var reason: String
    var description: String { reason }
}
