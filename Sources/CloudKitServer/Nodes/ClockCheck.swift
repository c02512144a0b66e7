import CloudKitAccounts
import CloudKitRecordLayer

/// Compares the clock of a process with those of the nodes that serve the store, before it becomes one of them.
///
/// Nodes whose clocks differ by seconds work. Times that devices and people are shown, the ends of sessions and shares, and the time for
/// which a database remembers its transactions are those of the node that answers: far apart they contradict each other.
package struct ClockCheck: Sendable {
    private let store: Storage
    private let serverEnvironment: ServerEnvironment

    /// How far apart two clocks are.
    package enum Verdict: Comparable, Sendable {
        case near
        /// A minute: the operator is told.
        case far
        /// Five minutes, half of the time for which a database remembers transactions: a node does not start.
        case tooFar

        /// Judges a difference in milliseconds.
        package init(difference: Int64) {
            self =
                switch difference.magnitude {
                case ...60_000: .near
                case ...300_000: .far
                default: .tooFar
                }
        }
    }

    /// Signs of life come each second; nodes without any for this long are not asked.
    private static let looks = 15
    private static let pause = Duration.milliseconds(200)

    /// Creates a check.
    package init(store: Storage, serverEnvironment: ServerEnvironment) {
        self.store = store
        self.serverEnvironment = serverEnvironment
    }

    /// Returns the milliseconds by which the clock of a living node is ahead of this process's, of the node that differs most; negative:
    /// behind; 0 without other nodes. Takes up to three seconds where there are rows of nodes.
    package func difference() async throws -> Int64 {
        var observations = NodeObservations()
        for look in 0..<Self.looks {
            if look > 0 { try await serverEnvironment.sleep(Self.pause) }
            let nodes = try await store.read(.nodes) { try await NodeTable($0).nodes }
            observations.note(nodes, at: serverEnvironment.uptime(), clock: serverEnvironment.now())
            if observations.haveAllShownTheirClock { break }
        }
        return observations.clockDifference(to: "")
    }
}
