import CloudKitModel
import CloudKitRecordLayer

/// The proof of an account's address that is under way: a link was mailed to it and not opened yet.
struct AddressProof: StoredRow, Hashable {
    /// The account.
    var account: String
    /// The address that the link was mailed to, normalised.
    var email: String
    /// SHA-256 of the code of the newest link, in hexadecimal.
    var hash: String
    /// Milliseconds since 1970.
    var expires: Int64
    /// The times of the mails of the last day, in milliseconds since 1970, oldest first.
    var sent: [Int64]

    /// account → `AddressProof`
    static let table = RowTable<String, AddressProof>("address-proof")
    /// hash of a code → account
    static let accounts = RowTable<String, String>("address-proof-code")

    /// Milliseconds between two mails to an account.
    static let pause: Int64 = 60_000
    /// Mails to an account in a day.
    static let dayMax = 5
    private static let day: Int64 = 86_400_000

    /// Returns the times of mails that count, with the time of another one.
    ///
    /// - Throws: `RequestFailure` `throttled`.
    static func sending(after sent: [Int64], now: Int64) throws(RequestFailure) -> [Int64] {
        // A clock that was set back makes nobody wait for longer.
        let sent = sent.map { min($0, now) }.filter { now - $0 < day }
        let waits = [
            sent.last.map { $0 + pause - now }, sent.count < dayMax ? nil : sent[sent.count - dayMax] + day - now,
        ].compactMap { $0 }.filter { $0 > 0 }
        if let wait = waits.max() {
            throw RequestFailure(.throttled, "a link was mailed already", retryAfter: Double(wait) / 1000)
        }
        return sent + [now]
    }
}

extension StorageWriter {
    /// Forgets the link that was mailed for an account.
    mutating func clearAddressProof(ofAccount id: String) async throws {
        guard let proof = try await AddressProof.table.row(id, in: self) else { return }
        AddressProof.accounts.clear(proof.hash, in: &self)
        AddressProof.table.clear(id, in: &self)
    }
}
