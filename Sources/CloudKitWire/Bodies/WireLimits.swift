/// The limits up to which a body is read before it is refused.
package struct WireLimits: Hashable, Sendable {
    /// Bytes of a body. A request may carry 2 MB (B-LIM-02); the rest is space for base64 and names.
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

    /// Requests of clients of web services.
    package static let web = WireLimits()
    /// Requests of our own SDK.
    package static let native = WireLimits(itemsMax: 400)
    /// Answers, read by the SDK: it trusts its server more than a server its clients.
    package static let answer = WireLimits(bodyBytesMax: 268_435_456, itemsMax: .max)
}
