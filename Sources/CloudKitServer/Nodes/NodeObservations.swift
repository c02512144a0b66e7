/// When one node last saw the others give a sign of life, by its own clock.
///
/// Clocks of nodes are never compared: a node counts as dead when its number has stood still for `lifetime` of the observer's clock, which
/// is never set back. Pure: time is passed in.
struct NodeObservations: Hashable, Sendable {
    private struct Observation: Hashable {
        var beat: UInt64
        var since: Duration
    }

    /// The time without a sign of life after which a node counts as dead.
    static let lifetime = Duration.seconds(5)

    private var known: [String: Observation] = [:]

    /// Notes the state of all nodes, seen by a transaction that had ended at a time: not earlier, because a node counts the lifetime from
    /// before it gave its sign.
    mutating func note(_ nodes: [String: NodeRow], at now: Duration) {
        known = known.filter { nodes[$0.key] != nil }
        for (id, row) in nodes where known[id]?.beat != row.beat {
            known[id] = Observation(beat: row.beat, since: now)
        }
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
