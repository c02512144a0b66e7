/// The credentials of a request.
package struct RequestCredentials: Hashable, Sendable {
    /// The app's token.
    package var apiToken: String?
    /// The token of the device or browser.
    package var webAuthToken: String?
    /// The signature of a server.
    package var signature: ServerSignature?
    /// The origin of the web page that sends it.
    package var origin: String?

    /// Creates credentials; parts that the request did not have are nil.
    package init(
        apiToken: String? = nil, webAuthToken: String? = nil, signature: ServerSignature? = nil, origin: String? = nil
    ) {
        self.apiToken = apiToken
        self.webAuthToken = webAuthToken
        self.signature = signature
        self.origin = origin
    }
}
