import CloudKitRecordLayer

/// A browser in which an operator is signed in to the Console.
package struct ConsoleSession: StoredRow, Hashable {
    /// SHA-256 of the cookie, in hexadecimal.
    package var hash: String
    /// The hash of the operator's token that signed it in; nil for an account.
    var token: String?
    /// The account that signed it in; nil for a token.
    var account: String?
    /// Milliseconds since 1970.
    package var created: Int64
    /// The hashes of the consents that were shown in it; nil for none.
    var consents: [String]?
    /// The last request, some minutes ago at most; milliseconds since 1970.
    package var used: Int64

    /// Milliseconds without a request after which the operator has to sign in again.
    package static let idleMax: Int64 = 12 * 3_600_000
    /// Milliseconds after which the operator has to sign in again in any case.
    package static let lifetime: Int64 = 7 * 86_400_000
    /// Milliseconds after which a request is noted.
    static let noteInterval: Int64 = 5 * 60_000
    /// Sessions at a time; beyond that, the one longest unused ends.
    static let sessionsMax = 1000

    /// hash → `ConsoleSession`
    static let table = RowTable<String, ConsoleSession>("console-session")

    func isOver(at now: Int64) -> Bool { now - used >= Self.idleMax || now - created >= Self.lifetime }
}
