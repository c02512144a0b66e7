/// One HTTP request of the sign-in; the owner of an HTTP client sends it.
package struct DeviceRequest: Hashable, Sendable {
    /// The HTTP method.
    package var method: String
    /// The absolute URL.
    package var url: String
    /// The header, by name.
    package var headers: [String: String]
    /// The body.
    package var body: [UInt8]

    /// Creates a value with the given properties.
    package init(method: String, url: String, headers: [String: String], body: [UInt8]) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// The response to a `DeviceRequest`.
package struct DeviceResponse: Hashable, Sendable {
    /// The HTTP status.
    package var status: Int
    /// The body.
    package var body: [UInt8]

    /// Creates a value with the given properties.
    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

/// Sends a request and waits for the whole answer.
package typealias DeviceTransport = @Sendable (DeviceRequest) async throws -> DeviceResponse
