/// The limits up to which a body is read before it is refused.
package struct WireLimits: Hashable, Sendable {
    /// Bytes of a body.
    package var bodyBytesMax: Int
    /// Operations, ids or zones of one request: 200 by web services, 400 for our own SDK (B-LIM-01, B-LIM-03).
    package var itemsMax: Int
    /// The depth to which arrays and objects may nest.
    package var depthMax: Int

    /// Creates a value with the given properties.
    package init(bodyBytesMax: Int = 3_145_728, itemsMax: Int = 200, depthMax: Int = 64) {
        self.bodyBytesMax = bodyBytesMax
        self.itemsMax = itemsMax
        self.depthMax = depthMax
    }

    /// Requests of clients of web services: the 2 MB of B-LIM-02 count the body as it is sent.
    package static let web = WireLimits(bodyBytesMax: 2_097_152)
    /// Requests of our own SDK: the 2 MB of B-LIM-02 count values, and a body may have more for base64 and names.
    package static let native = WireLimits(itemsMax: 400)
    /// Answers, read by the SDK: it trusts its server more than a server its clients.
    package static let answer = WireLimits(bodyBytesMax: 268_435_456, itemsMax: .max)
}
