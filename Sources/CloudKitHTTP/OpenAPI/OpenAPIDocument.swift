import HTTPTypes

/// The description of the served API as an OpenAPI document, which is the same for every cloud of this version.
struct OpenAPIDocument: Sendable {
    /// Bytes of the document of all endpoints.
    static let complete = bytes { _ in true }
    /// Bytes of the document of a cloud that is strict about web services.
    static let strict = bytes(of: \.isServedStrictly)

    private static func bytes(of isServed: (EndpointName) -> Bool) -> [UInt8] {
        // Text, flags, lists and objects can always be encoded.
        (try? document(of: isServed).bytes) ?? []
    }

    private static func document(of isServed: (EndpointName) -> Bool) -> OpenAPIValue {
        var paths: [(key: String, value: OpenAPIValue)] = []
        for name in EndpointName.allCases where isServed(name) {
            guard let description = name.apiDescription else { continue }
            for (index, path) in description.paths(of: name).enumerated() {
                paths.append((path, description.item(of: name, path, index)))
            }
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Welkin", "version": "1",
                "description":
                    "CloudKit Web Services and Welkin's additions to them; docs/web-services.md explains them with examples.",
            ],
            "paths": .object(paths),
            "components": [
                "schemas": .object(APIComponent.allCases.map { ($0.rawValue, $0.schema.json) }),
                "securitySchemes": securitySchemes,
                "responses": [
                    "Error": [
                        "description": "The request failed as a whole.",
                        "content": ["application/json": ["schema": JSONSchema.component(.error).json]],
                    ]
                ],
            ],
        ]
    }

    private static let securitySchemes: OpenAPIValue = [
        "apiToken": ["type": "apiKey", "in": "query", "name": "ckAPIToken"],
        "webAuthToken": ["type": "apiKey", "in": "query", "name": "ckWebAuthToken"],
        "serverKey": ["type": "apiKey", "in": "header", "name": "X-Apple-CloudKit-Request-SignatureV1"],
        "operatorToken": ["type": "http", "scheme": "bearer"],
    ]
}

extension EndpointDescription {
    /// Returns the paths of the endpoint.
    fileprivate func paths(of name: EndpointName) -> [String] {
        let database = "/database/1/{container}/{environment}/"
        let device = "/device/1/{container}/{environment}/" + name.rawValue
        return switch place {
        case .database(_, let hasAlias):
            [database + "{database}/" + name.rawValue] + (hasAlias ? [database + name.rawValue] : [])
        case .device: [device]
        case .deviceAndDatabase:
            [device, database + "{database}/" + name.rawValue, database + name.rawValue]
        case .container: ["/admin/1/{container}/{environment}/" + name.rawValue.dropFirst("admin/".count)]
        case .path(let path), .operatorPath(let path): [path]
        }
    }

    /// Returns what the document says of a path.
    ///
    /// - Parameter index: The number of the path among those of the endpoint, which makes its operations' identifiers unique.
    fileprivate func item(of name: EndpointName, _ path: String, _ index: Int) -> OpenAPIValue {
        var members: [(key: String, value: OpenAPIValue)] = []
        let parameters = parameters(of: path)
        if !parameters.isEmpty { members.append(("parameters", .list(parameters))) }
        for operation in operations {
            let suffix = index == 0 ? "" : "\(index + 1)"
            members.append(
                (
                    operation.method,
                    OpenAPIValue(
                        ("operationId", .text("\(name)_\(operation.method)\(suffix)")), ("summary", .text(summary)),
                        ("security", security), ("requestBody", operation.body.request),
                        ("responses", operation.responses))
                ))
        }
        return .object(members)
    }

    private func parameters(of path: String) -> [OpenAPIValue] {
        path.matches(of: /\{([a-z]+)\}/).map { match in
            let name = String(match.1)
            return [
                "name": .text(name), "in": "path", "required": .flag(true), "schema": schema(ofParameter: name).json,
            ]
        }
    }

    private func schema(ofParameter name: String) -> JSONSchema {
        switch (name, place) {
        case ("environment", _): .string(choices: ["development", "production"])
        case ("database", .database(let databases, _)): .string(choices: databases)
        case ("database", _): .string(choices: ["public", "private", "shared"])
        default: .text
        }
    }

    private var security: OpenAPIValue? {
        switch place {
        case .database: [["apiToken": []], ["apiToken": [], "webAuthToken": []], ["serverKey": []]]
        case .device, .deviceAndDatabase: [["apiToken": []], ["apiToken": [], "webAuthToken": []]]
        case .container, .operatorPath: [["operatorToken": []]]
        case .path: nil
        }
    }
}

extension EndpointDescription.Operation {
    fileprivate var responses: OpenAPIValue {
        var members: [(key: String, value: OpenAPIValue)] = []
        for status in Set(answers.map(\.status)).sorted() {
            let contents = answers.filter { $0.status == status }.flatMap(\.content.types)
            members.append(
                (
                    "\(status)",
                    OpenAPIValue(
                        ("description", .text(HTTPResponse.Status(code: status).reasonPhrase)),
                        ("content", contents.isEmpty ? nil : .object(contents)),
                        ("x-may-be-empty", mayBeEmpty(status) ? .flag(true) : nil))
                ))
        }
        members.append(("default", ["$ref": "#/components/responses/Error"]))
        return .object(members)
    }

    private func mayBeEmpty(_ status: Int) -> Bool {
        answers.contains { answer in
            if case .jsonOrNothing = answer.content { answer.status == status } else { false }
        }
    }
}

extension EndpointDescription.Content {
    /// The content types, each with its schema.
    fileprivate var types: [(key: String, value: OpenAPIValue)] {
        switch self {
        case .json(let schema), .jsonOrNothing(let schema): [("application/json", ["schema": schema.json])]
        case .text(let type): [(type, ["schema": JSONSchema.text.json])]
        case .bytes: [("*/*", [:])]
        case .none: []
        }
    }

    /// The description of a request's body; nil where there is none.
    fileprivate var request: OpenAPIValue? {
        types.isEmpty ? nil : ["required": .flag(true), "content": .object(types)]
    }
}

/// `GET /openapi.json`: the description of the API.
struct OpenAPIEndpoint {
    var isStrict: Bool

    func show(_ request: IncomingRequest) -> EndpointResponse {
        EndpointResponse(body: isStrict ? OpenAPIDocument.strict : OpenAPIDocument.complete)
    }
}
