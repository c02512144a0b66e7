import CloudKitAccounts
import CloudKitRecordLayer

/// A row that a node writes to see whether a database still has room. The names of the properties are stored: they never change.
struct ProbeRow: StoredRow, Hashable {
    /// Another one each time.
    var text: String

    static let table = RowTable<String, ProbeRow>("probe")
    static let key = "write"
}

/// Writes to a store that several nodes share, whose disk is not the nodes' own.
package struct WriteProbe: Sendable {
    /// What a write has shown.
    package enum Outcome: Hashable, Sendable {
        case written
        /// The store refuses to be written to: its disk is full, or it is a standby.
        case refused
        /// Nothing: the store is away, which others notice.
        case unknown
    }

    private let store: Storage
    private let serverEnvironment: ServerEnvironment
    /// More than the page of a database, so that it needs room of its own.
    private static let byteCount = 16_384

    /// Creates a probe.
    package init(store: Storage, serverEnvironment: ServerEnvironment) {
        self.store = store
        self.serverEnvironment = serverEnvironment
    }

    /// Writes once.
    package func run() async -> Outcome {
        let row = ProbeRow(text: serverEnvironment.randomHex(bytes: Self.byteCount / 2))
        do {
            try await store.write(.nodes) { transaction in
                try ProbeRow.table.set(ProbeRow.key, to: row, in: &transaction)
            }
            return .written
        } catch let error as StorageError where error.code == .diskFull || error.code == .readOnly {
            return .refused
        } catch {
            return .unknown
        }
    }
}
