/// When one node last saw the others give a sign of life, by its own clock.
///
/// Whether a node is dead is no matter of clocks that can be set: it is when its number has stood still for `lifetime` of the observer's
/// clock that is never set back. How far clocks differ is only told to the operator. Pure: time is passed in.
struct NodeObservations: Hashable, Sendable {
    private struct Observation: Hashable {
        var beat: UInt64
        var since: Duration
        /// Milliseconds by which the node's clock is ahead of the observer's; nil while the node was not seen alive.
        var isAhead: Int64?
    }

    /// The time without a sign of life after which a node counts as dead.
    static let lifetime = Duration.seconds(5)

    private var known: [String: Observation] = [:]

    /// Notes the state of all nodes, seen by a transaction that had ended at a time: not earlier, because a node counts the lifetime from
    /// before it gave its sign.
    ///
    /// - Parameter clock: The observer's clock that can be set, in milliseconds since 1970.
    mutating func note(_ nodes: [String: NodeRow], at now: Duration, clock: Int64? = nil) {
        known = known.filter { nodes[$0.key] != nil }
        for (id, row) in nodes where known[id]?.beat != row.beat {
            var made = Observation(beat: row.beat, since: now)
            // The first sign that is seen may have been given long ago.
            if known[id] != nil, let theirs = row.clock, let clock {
                made.isAhead = theirs.subtractingReportingOverflow(clock).partialValue
            }
            known[id] = made
        }
    }

    /// Whether each node was seen alive, or there is none.
    var haveAllShownTheirClock: Bool { known.values.allSatisfy { $0.isAhead != nil } }

    /// The milliseconds by which the clock of that living node which differs most is ahead of the observer's; negative: behind. 0 without
    /// other nodes. Exact to a few seconds, since signs of life are given and read at intervals.
    func clockDifference(to node: String) -> Int64 {
        known.filter { $0.key != node }.compactMap(\.value.isAhead).max { $0.magnitude < $1.magnitude } ?? 0
    }

    /// Returns the nodes that gave no sign of life for too long.
    func dead(among nodes: [String: NodeRow], at now: Duration) -> Set<String> {
        Set(
            nodes.filter { id, row in
                guard let seen = known[id], seen.beat == row.beat else { return false }
                return now - seen.since >= Self.lifetime
            }.keys)
    }
}
