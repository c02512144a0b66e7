import CloudKitModel

extension DatabaseScope {
    /// The public database keeps no feed: asking for it is an error, not an empty answer (B-DB-04).
    func checkHasFeed() throws(CallFailure) {
        guard self == .public else { return }
        throw .invalidArguments("The public database does not support fetching changes; use a query")
    }
}

extension Int {
    /// 0 and below: no limit of the app's own.
    var asLimit: Int? { self > 0 ? self : nil }
}
