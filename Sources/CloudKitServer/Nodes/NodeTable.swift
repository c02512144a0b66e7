import CloudKitRecordLayer

/// A process that serves the store. The names of the properties are stored: they never change.
struct NodeRow: StoredRow, Hashable {
    /// Grows with each sign of life.
    var beat: UInt64
    /// The node's clock at that sign, in milliseconds since 1970; nil of an earlier version.
    var clock: Int64?
}

/// Work that one node does for all. The names of the properties are stored: they never change.
struct LeaseRow: StoredRow, Hashable {
    /// The node that does the work; nil: none does.
    var owner: String?
    /// Grows each time another node takes the work over, so that a former owner is recognised.
    var fence: UInt64
}

/// The nodes of a store and their leases, as one transaction sees them.
struct NodeTable: Hashable, Sendable {
    /// The nodes, by their identifiers.
    var nodes: [String: NodeRow] = [:]
    /// The leases, by the names of the work.
    var leases: [String: LeaseRow] = [:]

    static let nodeRows = RowTable<String, NodeRow>("node")
    static let leaseRows = RowTable<String, LeaseRow>("lease")

    /// Gives a sign of life of a node, and the leases that it wants and no living node has; takes from it those that it no longer wants.
    ///
    /// - Parameters:
    ///   - isNew: Whether it has given none before.
    ///   - clock: The node's clock, in milliseconds since 1970.
    ///   - wanted: The names of the work that it can do.
    ///   - dead: The nodes that gave no sign of life for too long.
    /// - Returns: False: others have taken it for dead; nothing was changed.
    mutating func beat(
        _ node: String, isNew: Bool, clock: Int64? = nil, wanted: Set<String>, dead: Set<String>
    ) -> Bool {
        guard isNew || nodes[node] != nil else { return false }
        nodes[node] = NodeRow(beat: (nodes[node]?.beat ?? 0) + 1, clock: clock)
        for other in dead where other != node { nodes[other] = nil }
        for name in wanted.union(leases.keys) {
            let held = leases[name]
            if let owner = held?.owner, owner != node, nodes[owner] != nil { continue }
            if wanted.contains(name) {
                if held?.owner != node { leases[name] = LeaseRow(owner: node, fence: (held?.fence ?? 0) + 1) }
            } else if held?.owner == node {
                release(name)
            }
        }
        return true
    }

    /// Removes a node, which gives its leases back.
    mutating func leave(_ node: String) {
        nodes[node] = nil
        for (name, lease) in leases where lease.owner == node { release(name) }
    }

    /// The names of single pieces of work whose node died before they were done.
    var abandoned: Set<String> {
        Set(leases.filter { $0.value.owner.map { nodes[$0] == nil } ?? false && Self.isOfOnePiece($0.key) }.keys)
    }

    private mutating func release(_ name: String) {
        // A piece of work that was given back is done: its lease need not be kept.
        leases[name] = Self.isOfOnePiece(name) ? nil : leases[name].map { LeaseRow(owner: nil, fence: $0.fence) }
    }

    /// Returns whether the work ends, unlike that of the cloud's workers.
    private static func isOfOnePiece(_ name: String) -> Bool { SharedWork(rawValue: name) == nil }
}

extension NodeTable {
    /// Reads the table.
    init(_ view: some StorageView) async throws {
        for (id, row) in try await Self.nodeRows.page(prefix: "", limit: .max, in: view) { nodes[id] = row }
        for (name, row) in try await Self.leaseRows.page(prefix: "", limit: .max, in: view) { leases[name] = row }
    }

    /// Writes what differs from an earlier state.
    func store(since before: NodeTable, _ transaction: inout StorageWriter) throws {
        for id in Set(nodes.keys).union(before.nodes.keys) where nodes[id] != before.nodes[id] {
            if let row = nodes[id] {
                try Self.nodeRows.set(id, to: row, in: &transaction)
            } else {
                Self.nodeRows.clear(id, in: &transaction)
            }
        }
        for name in Set(leases.keys).union(before.leases.keys) where leases[name] != before.leases[name] {
            if let row = leases[name] {
                try Self.leaseRows.set(name, to: row, in: &transaction)
            } else {
                Self.leaseRows.clear(name, in: &transaction)
            }
        }
    }

    /// Returns whether a stored row is one of this table, or of the probe beside it.
    static func isRow(_ key: [UInt8], _ value: [UInt8]) -> Bool {
        if nodeRows.rowText(of: key) != nil { return (try? NodeRow(rowBytes: value)) != nil }
        if ProbeRow.table.rowText(of: key) != nil { return (try? ProbeRow(rowBytes: value)) != nil }
        return leaseRows.rowText(of: key) != nil && (try? LeaseRow(rowBytes: value)) != nil
    }
}

extension StoragePartition {
    /// The nodes of a store and their leases.
    package static let nodes = StoragePartition("nodes")
}
