import TextEncodings

/// Sends requests to the endpoints that take a management token.
struct ManagementClient {
    var endpoint: String
    var token: String

    /// Creates a client for the cloud of a place, with the token that is found for it.
    init(_ place: ContainerPlace, _ tokenOption: TokenOption) throws {
        self.init(
            endpoint: place.configuration.endpoint,
            token: try tokenOption.find(.management, for: place.configuration.endpoint))
    }

    init(endpoint: String, token: String) {
        self.endpoint = endpoint
        self.token = token
    }

    /// Returns the answer to a request.
    func send(method: String = "POST", _ path: String, _ body: [String: JSONTree] = [:]) async throws -> JSONTree {
        try await CloudClient(endpoint: endpoint).send(
            CloudClient.Call(
                method: method, path: path,
                headers: ["Authorization": "Bearer " + token, "X-Welkin-Client": "sdk/1"],
                body: method == "GET" ? nil : .object(body),
                refusedToken: "The management token is not valid. Save another one with: cktool save-token "
                    + "--type management")
        ).tree
    }

    /// Returns the answer of a schema's endpoint.
    ///
    /// - Parameter action: The last part of the path, such as `export`.
    func schema(
        _ action: String, in place: ContainerPlace, environment: String? = nil, _ body: [String: JSONTree] = [:]
    ) async throws -> JSONTree {
        try await send(
            "/admin/1/\(place.container.percentEncoded)/\(environment ?? place.environment)/schema/\(action)", body)
    }
}
