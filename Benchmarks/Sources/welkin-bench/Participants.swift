import CloudUnderTest
import Foundation

extension Bench {
    /// Measures saves in a zone with a hundred notified participants against saves in an unshared zone.
    func participants() throws -> Comparison {
        var comparison = Comparison(
            id: "p", title: "saves in a zone shared with 100 notified users / in an unshared one",
            unit: "saves/s", bound: .atLeast, target: 0.90)
        let count = options.isQuick ? 20 : 100
        let cloud = try CloudProcess(binary: welkin, in: folder, arguments: Crowd.serveOptions)
        defer { cloud.end() }
        let savers = 16
        let crowd = try Crowd(on: cloud, people: count + 1, listeners: 1, idle: 0, savers: savers)
        let owner = crowd.people[0].user
        let setup = try RawExchange(port: cloud.port, connections: 1)
        for zone in ["Shared", "Own"] {
            _ = try ask(setup, owner.makeZone(zone))
            _ = try ask(setup, owner.modify([Payload.operation(999_999_999)], zone: zone))
        }
        let answer = try ask(
            setup,
            owner.modify(
                [
                    #"{"operationType":"create","record":{"recordName":"cloudkit.zoneshare","recordType":"cloudkit.share","publicPermission":"READ_WRITE"}}"#
                ], zone: "Shared"))
        guard let mark = answer.text.range(of: #""shortGUID":""#),
            let end = answer.text[mark.upperBound...].firstIndex(of: "\"")
        else { throw BenchError("no share: \(answer.text.prefix(300))") }
        let link = answer.text[mark.upperBound..<end]
        for person in crowd.people.dropFirst() {
            _ = try ask(
                setup,
                .post(
                    person.user.path("records/accept", in: "public"),
                    body: Array(#"{"shortGUIDs":[{"value":"\#(link)"}]}"#.utf8)))
            _ = try ask(
                setup,
                .post(
                    person.user.path("subscriptions/modify", in: "shared"),
                    body: Array(
                        #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"S","subscriptionType":"database"}}]}"#
                            .utf8)))
        }
        crowd.listen()
        try crowd.idle(seconds: 2)
        let seconds = options.isQuick ? 1.0 : 4.0
        var (next, notified) = (0, 0)
        for round in 0...rounds {
            let shared = try crowd.save(in: "Shared", as: owner, seconds: seconds, next: &next)
            // Outstanding notifications must not affect the other zone.
            try crowd.idle(seconds: 1.5)
            let own = try crowd.save(in: "Own", as: owner, seconds: seconds, next: &next)
            try crowd.idle(seconds: 0.5)
            guard round > 0 else { continue }
            comparison.measured.append(shared.rate)
            comparison.yardstick.append(own.rate)
            notified += shared.notifications
        }
        comparison.remarks.append(
            "\(savers) connections; \(Int(Double(notified) / Double(rounds) / seconds)) notifications/s reached devices"
        )
        return comparison
    }
}

extension Crowd {
    /// Keeps all connections for saving busy.
    fileprivate func save(
        in zone: String, as user: SignedInUser, seconds: Double, next: inout Int
    ) throws -> (rate: Double, notifications: Int) {
        let template = BatchTemplate(user, zone: zone, count: 1)
        let start = Moment.now
        let end = start.advanced(bySeconds: seconds)
        var (busy, saves, notifications) = (0, 0, 0)
        for connection in 0..<saverCount {
            exchange.send(template.request(first: next), on: connection)
            next += 1
            busy += 1
        }
        var last = start
        while busy > 0 {
            switch try self.next(until: end.advanced(bySeconds: 30)) {
            case .saved(let connection):
                saves += 1
                last = .now
                if last < end {
                    exchange.send(template.request(first: next), on: connection)
                    next += 1
                } else {
                    busy -= 1
                }
            case .notified: notifications += 1
            case .nothing: break
            case nil: throw BenchError("a save was not answered")
            }
        }
        return (Double(saves) / last.seconds(since: start), notifications)
    }
}
