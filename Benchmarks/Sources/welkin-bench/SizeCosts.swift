import CloudUnderTest
import Foundation

/// The processor time of requests against the size of what they belong to.
extension Bench {
    private var size: Int { options.records ?? (options.isQuick ? 20_000 : 1_000_000) }

    /// Measures requests in a zone of a million records against one of a thousand, in a database of 990 zones against one of ten, and
    /// in a cloud of 99,000 people against one of a hundred.
    func costsAgainstSize() throws -> [Comparison] {
        try costsAgainstRecords() + costsAgainstZones() + costsAgainstPeople()
    }

    private func costsAgainstRecords() throws -> [Comparison] {
        let (cloud, user) = try cloud()
        defer { cloud.end() }
        let exchange = try RawExchange(port: cloud.port, connections: 8)
        let zones = try [1000, size].enumerated().map { index, count in
            try NumberedZone("Zone\(index)", count: count, by: user, over: exchange, port: cloud.port, bench: self)
        }
        let kinds: [(String, Int, (NumberedZone) -> RawRequest)] = [
            ("looking up one record", 10_000, { $0.lookup() }),
            ("a page of 200 changes, somewhere in the feed", 400, { $0.page() }),
            ("asking for changes when there are none", 10_000, { $0.emptyPage() }),
            ("a query for one record by an indexed number", 4_000, { $0.query() }),
            ("a query for ten records in the order of a number", 4_000, { $0.sortedQuery() }),
            // The last one: it moves the end of the feed.
            ("saving one record", 3_000, { $0.save() }),
        ]
        return try kinds.map { title, count, request in
            try costs("\(title), zone of \(size) records / of 1000", count, on: [cloud, cloud]) { side in
                let zone = zones[1 - side]
                return { request(zone) }
            } over: { _ in
                exchange
            }
        }
    }

    private func costsAgainstZones() throws -> [Comparison] {
        let cloud = try CloudProcess(binary: welkin, in: folder, arguments: Crowd.serveOptions)
        defer { cloud.end() }
        let crowd = try Crowd(on: cloud, people: 2, listeners: 0, idle: 0, savers: 8)
        let exchange = crowd.exchange
        let counts = [options.isQuick ? 100 : 990, 10]
        var tokens: [String] = []
        for (person, count) in zip(crowd.people, counts) {
            for number in 0..<count { _ = try ask(exchange, person.user.makeZone("Zone\(number)")) }
            tokens.append(try token(of: person.user, over: exchange))
        }
        func users(_ side: Int) -> SignedInUser { crowd.people[side].user }
        var next = 0
        return [
            try costs(
                "asking for changed zones when there are none, database of \(counts[0]) zones / of \(counts[1])",
                10_000,
                on: [cloud, cloud],
                requests: { side in
                    let request = Self.changedZones(users(side), since: tokens[side])
                    return { request }
                }, over: { _ in exchange }),
            try costs(
                "saving one record, database of \(counts[0]) zones / of \(counts[1])", 3_000, on: [cloud, cloud],
                requests: { side in
                    let template = BatchTemplate(users(side), zone: "Zone7", count: 1, payload: "AAAA")
                    return {
                        next += 1
                        return template.request(first: next)
                    }
                }, over: { _ in exchange }),
        ]
    }

    private func costsAgainstPeople() throws -> [Comparison] {
        // As many as may sign up in an hour.
        let counts = [min(size, 99_000), 100]
        let clouds = try counts.map { _ in
            try CloudProcess(binary: welkin, in: folder, arguments: Crowd.serveOptions)
        }
        defer { for cloud in clouds { cloud.end() } }
        let peoples = try zip(clouds, counts).map { cloud, count in try Populace(of: count, on: cloud, bench: self) }
        let kinds: [(String, Int, (Populace) -> RawRequest)] = [
            ("signing in", 2_000, { $0.signIn() }),
            ("saving one record", 3_000, { $0.save() }),
            ("looking up one record", 10_000, { $0.lookup() }),
            ("asking for changes when there are none", 10_000, { $0.changedZones() }),
        ]
        return try kinds.map { title, count, request in
            try costs("\(title), cloud of \(counts[0]) people / of \(counts[1])", count, on: clouds) { side in
                { request(peoples[side]) }
            } over: {
                peoples[$0].exchange
            }
        }
    }

    /// Measures the processor time of requests on two sides, round by round.
    ///
    /// - Parameters:
    ///   - count: Requests of a round.
    ///   - requests: Returns what makes the requests of a side; 0 is the large one.
    private func costs(
        _ title: String, _ count: Int, on clouds: [CloudProcess], requests: (Int) throws -> () -> RawRequest,
        over exchange: (Int) -> RawExchange
    ) throws -> Comparison {
        var comparison = Comparison(id: "k", title: title, unit: "µs of the server", bound: .atMost, target: 1.05)
        let turns = 20
        let slice = count / (options.isQuick ? 5 : 1) / turns
        let makers = try (0..<2).map(requests)
        for round in 0...rounds {
            var times = [0.0, 0.0]
            // In slices of some tens of milliseconds, so that both sides have the same disturbances.
            for turn in 0..<turns {
                for side in turn % 2 == 0 ? [0, 1] : [1, 0] {
                    var rest = (0..<slice).map { _ in makers[side]() }[...]
                    let before = clouds[side].processorSeconds
                    _ = try Load.run(exchange(side)) { _ in rest.popFirst() }
                    times[side] += clouds[side].processorSeconds - before
                }
            }
            // The first round warms up.
            guard round > 0 else { continue }
            comparison.measured.append(times[0] / Double(turns * slice) * 1e6)
            comparison.yardstick.append(times[1] / Double(turns * slice) * 1e6)
        }
        return comparison
    }

    fileprivate func token(of user: SignedInUser, over exchange: RawExchange) throws -> String {
        struct Answer: Decodable {
            var syncToken: String
            var moreComing: Bool?
        }
        var page = Answer(syncToken: "", moreComing: true)
        while page.moreComing == true {
            let answer = try ask(
                exchange, Self.changedZones(user, since: page.syncToken.isEmpty ? nil : page.syncToken))
            page = try JSONDecoder().decode(Answer.self, from: Data(answer.body))
        }
        return page.syncToken
    }

    fileprivate static func changedZones(_ user: SignedInUser, since token: String?) -> RawRequest {
        user.post("changes/database", token.map { #"{"syncToken":"\#($0)"}"# } ?? "{}")
    }
}

/// A zone of records, each with a number of its own, and requests to it.
private final class NumberedZone {
    private let name: String
    private let user: SignedInUser
    private let count: Int
    /// Positions in the feed, the last one at its end.
    private var tokens: [String] = []
    private var next: Int
    private var turn = 0

    init(_ name: String, count: Int, by user: SignedInUser, over exchange: RawExchange, port: UInt16, bench: Bench)
        throws
    {
        self.name = name
        self.user = user
        self.count = count
        next = count
        _ = try bench.ask(exchange, user.makeZone(name))
        var first = 0
        _ = try Load.run(exchange) { _ in
            guard first < count else { return nil }
            defer { first += 200 }
            return user.modify((first..<first + 200).map(Self.operation), zone: name)
        }
        var reader = FeedReader(zone: name, user: user)
        let one = try RawExchange(port: port, connections: 1)
        while !reader.isAtEnd {
            try reader.readPage(one)
            if let token = reader.token { tokens.append(token) }
        }
        try reader.expect(count)
    }

    /// Returns one number after the other, scattered over the zone.
    private func number() -> Int {
        turn += 1
        return turn &* 7919 % count
    }

    func save() -> RawRequest {
        next += 1
        return user.modify([Self.operation(next)], zone: name)
    }

    func lookup() -> RawRequest { user.lookup([Payload.name(number())], zone: name) }

    func page() -> RawRequest {
        user.changes(of: name, since: tokens[number() % (tokens.count - 1)], limit: 200)
    }

    func emptyPage() -> RawRequest { user.changes(of: name, since: tokens.last, limit: 200) }

    func query() -> RawRequest {
        user.post(
            "records/query",
            #"{"zoneID":{"zoneName":"\#(name)"},"query":{"recordType":"Numbered","#
                + #""filterBy":[\#(Self.filter("EQUALS", number()))]}}"#
        )
    }

    func sortedQuery() -> RawRequest {
        user.post(
            "records/query",
            #"{"zoneID":{"zoneName":"\#(name)"},"resultsLimit":10,"query":{"recordType":"Numbered","#
                + #""filterBy":[\#(Self.filter("GREATER_THAN", number() / 2))],"#
                + #""sortBy":[{"fieldName":"number","ascending":true}]}}"#
        )
    }

    private static func filter(_ comparator: String, _ number: Int) -> String {
        #"{"fieldName":"number","comparator":"\#(comparator)","fieldValue":{"value":\#(number),"type":"INT64"}}"#
    }

    private static func operation(_ number: Int) -> String {
        #"{"operationType":"create","record":{"recordName":"\#(Payload.name(number))","recordType":"Numbered","fields":{"#
            + #""title":{"value":"record \#(number)","type":"STRING"},"number":{"value":\#(number),"type":"INT64"}}}}"#
    }
}

/// The people of a cloud, of whom some are signed in, with a zone and a record each.
private final class Populace {
    let exchange: RawExchange
    private let count: Int
    private let first: SignedInUser
    private var people: [SignedInUser] = []
    private var tokens: [String] = []
    private var turn = 0

    /// The people who are signed in.
    private static let presentCount = 100

    init(of count: Int, on cloud: CloudProcess, bench: Bench) throws {
        self.count = count
        exchange = try RawExchange(port: cloud.port, connections: 16)
        first = try cloud.signIn(container: Bench.container, profile: "first-\(count)")
        var number = 0
        _ = try Load.run(exchange) { [first] _ in
            guard number < count else { return nil }
            defer { number += 1 }
            return Newcomer(number: number, app: first).signUp
        }
        for index in 0..<Self.presentCount {
            let person = present(index)
            let user = try person.user(in: bench.ask(exchange, person.signIn(deviceName: "bench")))
            people.append(user)
            _ = try bench.ask(exchange, user.makeZone("Z"))
            _ = try bench.ask(exchange, user.modify([Payload.operation(0, payload: "AAAA")], zone: "Z"))
            tokens.append(try bench.token(of: user, over: exchange))
        }
    }

    /// Returns one of those who are signed in: the first sign-in of a person creates their user record.
    private func present(_ index: Int) -> Newcomer { Newcomer(number: index * (count / Self.presentCount), app: first) }

    private func index() -> Int {
        turn += 1
        return turn % people.count
    }

    func signIn() -> RawRequest { present(index()).signIn(deviceName: "bench") }

    func save() -> RawRequest {
        turn += 1
        return people[index()].modify([Payload.operation(turn, payload: "AAAA")], zone: "Z")
    }

    func lookup() -> RawRequest { people[index()].lookup([Payload.name(0)], zone: "Z") }

    func changedZones() -> RawRequest {
        let index = index()
        return Bench.changedZones(people[index], since: tokens[index])
    }
}
