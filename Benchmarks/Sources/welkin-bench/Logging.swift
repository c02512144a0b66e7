import CloudUnderTest
import Foundation

/// What the log of requests costs.
extension Bench {
    /// Measures the processor time of single saves with the log against a server without it. The two alternate, each with so many saves
    /// that a hundredth of a second, the unit of the kernel's count, is less than a hundredth of the time.
    func logging() throws -> Comparison {
        var comparison = Comparison(
            id: "l", title: "processor time of a save with the log / without (--log-days 0)", unit: "µs",
            bound: .atMost, target: 1.02)
        let (logging, loggingUser) = try cloud()
        defer { logging.end() }
        let (silent, silentUser) = try cloud(environment: ["WELKIN_LOG_DAYS": "0"])
        defer { silent.end() }
        try makeZone("Saves", on: logging, by: loggingUser)
        try makeZone("Saves", on: silent, by: silentUser)
        let onLogging = try RawExchange(port: logging.port, connections: 16)
        let onSilent = try RawExchange(port: silent.port, connections: 16)
        let count = options.isQuick ? 1_000 : 8_000
        for round in 0...rounds {
            let with = try processorTime(of: count, round, by: loggingUser, over: onLogging, at: logging)
            let without = try processorTime(of: count, round, by: silentUser, over: onSilent, at: silent)
            guard round > 0 else { continue }
            comparison.measured.append(with)
            comparison.yardstick.append(without)
        }
        comparison.remarks.append("16 connections, \(count) saves a round, with what is written after the last answer")
        return comparison
    }

    /// - Returns: The processor time of a save, in microseconds.
    private func processorTime(
        of count: Int, _ round: Int, by user: SignedInUser, over exchange: RawExchange, at cloud: CloudProcess
    ) throws -> Double {
        var next = round * count
        let before = cloud.processorSeconds
        _ = try Load.run(exchange) { _ in
            guard next < (round + 1) * count else { return nil }
            next += 1
            return user.modify([Payload.operation(next)], zone: "Saves")
        }
        // The log is written in the background.
        Thread.sleep(forTimeInterval: 2)
        return (cloud.processorSeconds - before) / Double(count) * 1e6
    }
}
