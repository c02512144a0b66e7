import CloudKitRecordLayer

/// A row that gives access until it is revoked.
protocol RevocableRow: StoredRow {
    static var table: RowTable<String, Self> { get }
    var isRevoked: Bool { get set }
    /// The row's key in its table.
    var key: String { get }
}

extension AccountStore {
    /// Revokes the one row in use that is meant.
    ///
    /// - Returns: The revoked row; empty when none is meant, more than one when several are, and then nothing is revoked.
    func revoke<Row: RevocableRow>(among rows: [Row], _ isMeant: (Row) -> Bool) async throws -> [Row] {
        let matches = rows.filter { !$0.isRevoked && isMeant($0) }
        guard matches.count == 1, var row = matches.first else { return matches }
        row.isRevoked = true
        try await Row.table.set(row.key, to: row, in: self)
        return [row]
    }
}
