/// A row of the operator's book that lets somebody in until it is revoked.
protocol Revocable: BookRow {
    var isRevoked: Bool { get set }
    /// Where it is kept.
    var bookKey: String { get }
}

extension APIToken: Revocable { var bookKey: String { AccountKey.apiToken(hash: hash) } }
extension OperatorToken: Revocable { var bookKey: String { AccountKey.operatorToken(hash: hash) } }
extension ServerKey: Revocable { var bookKey: String { AccountKey.serverKey(id) } }

extension Book {
    /// Revokes the one row in use that is meant.
    ///
    /// - Returns: What was revoked; empty when none is meant, more than one when several are, and then nothing is revoked.
    func revoke<Row: Revocable>(among rows: [Row], _ isMeant: (Row) -> Bool) async throws -> [Row] {
        let matches = rows.filter { !$0.isRevoked && isMeant($0) }
        guard matches.count == 1, var row = matches.first else { return matches }
        row.isRevoked = true
        let revoked = row
        try await change { try $0.set(revoked.bookKey, to: revoked) }
        return [revoked]
    }
}
