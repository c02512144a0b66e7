/// What one request may hold.
enum RequestLimits {
    /// Records saved and deleted together, or fetched (B-LIM-01).
    static let itemsMax = 400

    /// Refuses before anything is sent.
    static func check(items count: Int) throws(CallFailure) {
        guard count > itemsMax else { return }
        throw .limitExceeded(
            "Your request contains \(count) items which is more than the maximum number of items in a single request "
                + "(\(itemsMax))")
    }
}
