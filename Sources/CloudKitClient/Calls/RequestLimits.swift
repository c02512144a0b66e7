/// The limits of one request.
package enum RequestLimits {
    /// Records saved and deleted together, or fetched (B-LIM-01).
    package static let itemsMax = 400

    /// Refuses before anything is sent.
    package static func check(items count: Int) throws(CallFailure) {
        guard count > itemsMax else { return }
        throw .limitExceeded(
            "Your request contains \(count) items which is more than the maximum number of items in a single request "
                + "(\(itemsMax))")
    }
}
