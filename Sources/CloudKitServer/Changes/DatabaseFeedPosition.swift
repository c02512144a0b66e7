import CloudKitModel
import CloudKitRecordLayer

/// The position in a database's feed at which a request continues.
package struct DatabaseFeedPosition: Hashable, Sendable {
    /// The newest version that the client knows.
    package var version: UInt64
    /// Deletions up to here are passed over (B-CHG-08).
    package var baseline: UInt64

    /// - Parameter isCaughtUp: Whether the client says that it knows everything.
    /// - Throws: `changeTokenExpired` for a token ahead of the data, or from before deletions that were forgotten.
    package init(token: SyncToken?, isCaughtUp: Bool, header: DatabaseHeader) throws(RequestFailure) {
        guard let token else {
            version = isCaughtUp ? header.version : 0
            baseline = header.version
            return
        }
        // Without any version the database was removed with its account, and begins again.
        if header.version > 0, max(token.version, token.baseline) > header.version { throw .tokenAhead }
        guard token.version <= header.version, token.baseline <= header.version,
            max(token.version, token.baseline) >= header.horizon
        else { throw .tokenExpired }
        version = token.version
        baseline = token.baseline
    }
}
