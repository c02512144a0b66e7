import CloudKitModel

extension DatabaseScope {
    /// The public database keeps no feed: asking for it is an error, not an empty answer (B-DB-04).
    package func checkHasFeed() throws(CallFailure) {
        guard self == .public else { return }
        throw .invalidArguments("The public database does not support fetching changes; use a query")
    }
}
