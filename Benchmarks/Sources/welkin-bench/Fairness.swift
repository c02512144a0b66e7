import CloudUnderTest
import Foundation

/// The saves of one user while another saves as much as one request may.
extension Bench {
    /// Measures the slowest save of a user against the median one, while another user saves as many words as one atomic batch may add.
    func fairness() throws -> Comparison { try fairness(id: "g", title: "an atomic batch", atomic: true) }

    /// Measures the same while the batches are not atomic.
    func fairnessOfTurns() throws -> Comparison {
        try fairness(id: "g+", title: "a batch without atomicity", atomic: false)
    }

    private func fairness(id: String, title: String, atomic: Bool) throws -> Comparison {
        var comparison = Comparison(
            id: id,
            title:
                "slowest save of one user / median, while another saves \(atomic ? 130_000 : 260_000) words in \(title)",
            unit: "ms", bound: .atMost, target: 0)
        let (cloud, heavy) = try cloud()
        defer { cloud.end() }
        let light = try cloud.signIn(container: Self.container, profile: "light")
        for user in [heavy, light] {
            _ = try ask(try RawExchange(port: cloud.port, connections: 1), user.makeZone("Saves"))
        }
        let large = try RawExchange(port: cloud.port, connections: 1)
        _ = try ask(large, heavy.modify([Self.textOperation(0, words: 0..<1)], zone: "Saves"))
        let small = try RawExchange(port: cloud.port, connections: 1)
        let count = options.isQuick ? 100 : 400
        var largeCount = 0
        for round in 0...rounds {
            var times: [Double] = []
            for save in 0..<count {
                if large.awaited == 0 {
                    largeCount += 1
                    large.send(Self.batch(largeCount, by: heavy, atomic: atomic), on: 0)
                } else if let event = large.next(until: .now) {
                    guard event.outcome == .answered(status: 200) else {
                        throw BenchError("a large batch failed: \(event.outcome)")
                    }
                }
                times.append(try timeOfSave(round * count + save, by: light, over: small) * 1000)
            }
            while large.awaited > 0 { _ = large.next(until: Moment.now.advanced(bySeconds: 60)) }
            guard round > 0 else { continue }
            comparison.measured.append(times.max() ?? 0)
            comparison.yardstick.append(Comparison.median(times))
        }
        comparison.remarks.append(
            "\(largeCount) batches of \(atomic ? 0.8 : 1.6) MB, one after the other; \(count) small saves a round")
        return comparison
    }

    /// Returns a request with texts of 130,000 different words, of which 10,000 are found by a search: one if it is atomic, since two are
    /// refused, or else two.
    private static func batch(_ number: Int, by user: SignedInUser, atomic: Bool) -> RawRequest {
        let operations = (0..<(atomic ? 1 : 2)).map { index in
            textOperation(number * 2 + index, words: (index * 130_000)..<((index + 1) * 130_000))
        }
        return user.modify(operations, zone: "Saves", atomic: atomic)
    }

    private static func textOperation(_ number: Int, words: Range<Int>) -> String {
        let text = words.map { "w" + String($0, radix: 36) }.joined(separator: " ")
        return
            #"{"operationType":"create","record":{"recordName":"\#(Payload.name(number))","recordType":"Text","fields":{"#
            + #""body":{"value":"\#(text)","type":"STRING"}}}}"#
    }
}
