/// One HTTP request of the sign-in; whoever owns an HTTP client sends it.
package struct DeviceRequest: Hashable, Sendable {
    package var method: String
    package var url: String
    package var headers: [String: String]
    package var body: [UInt8]

    package init(method: String, url: String, headers: [String: String], body: [UInt8]) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// What came back.
package struct DeviceResponse: Hashable, Sendable {
    package var status: Int
    package var body: [UInt8]

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

/// Sends a request and waits for the whole answer.
package typealias DeviceTransport = @Sendable (DeviceRequest) async throws -> DeviceResponse
