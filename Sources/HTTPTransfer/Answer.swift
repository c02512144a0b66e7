extension HTTPClient {
    /// One HTTP answer.
    package struct Answer: Hashable, Sendable {
        /// The HTTP status.
        package var status: Int
        /// Keys in lower case; values of the same name are joined by commas.
        package var headers: [String: String]
        /// The body, decompressed.
        package var body: [UInt8]

        /// Creates a value with the given properties.
        package init(status: Int, headers: [String: String], body: [UInt8]) {
            self.status = status
            self.headers = headers
            self.body = body
        }
    }
}
