import CloudKitModel
import CloudKitRecordLayer

/// The time for which a node has a lease: transactions that must not follow those of a later owner check it.
struct LeaseTerm: Hashable, Sendable {
    /// The name of the work.
    var name: String
    /// The node.
    var owner: String
    /// The lease's counter when the node took it.
    var fence: UInt64

    /// The partitions that a transaction names besides its own in order to check a term; nil: only one process serves the store.
    static func partitions(of term: LeaseTerm?) -> [StoragePartition] { term == nil ? [] : [.nodes] }

    /// Fails a transaction, which names the partition of nodes, once another node has taken over.
    ///
    /// - Throws: `RequestFailure` `tryAgainLater`.
    func check(_ transaction: StorageWriter) async throws {
        let row = try await NodeTable.leaseRows.row(name, in: transaction, partition: .nodes)
        guard row == LeaseRow(owner: owner, fence: fence) else { throw Self.lost }
    }

    static let lost = RequestFailure(
        .tryAgainLater, "another node has taken over this work", remedy: "It does the rest; nothing is to be done.")
}
