import CloudKitModel
import CloudKitServer
import Foundation
import Logging

/// The endpoints below `/admin/1/{container}/{environment}/schema/`: schemas as text (docs/schema.md).
struct SchemaEndpoints {
    var cloud: Cloud
    var logger: Logger

    /// Bytes of a body: a schema of 1 MB, each byte written as an escape of JSON at worst.
    static let bodyBytesMax = 6_400_000

    /// Returns the schema of the environment as text.
    func export(_ request: IncomingRequest) async throws -> EndpointResponse {
        let place = try request.place
        let text = try await ExportSchema(cloud).run(of: place.container, place.environment)
        let progress = cloud.indexBuilds.progress(of: place.container, place.environment)
        return try .json(
            SchemaBody(
                schema: text, indexBuild: progress.map { IndexBuildBody($0.databasesDone, $0.databases, $0.records) }))
    }

    /// Imports a text to development, or checks it; into production no text is imported.
    func `import`(_ request: IncomingRequest) async throws -> EndpointResponse {
        let place = try request.place
        guard place.environment == .development else { throw Self.noImport }
        let order = try SchemaOrderBody(request.body, allowing: [.schema, .validate, .removeData])
        let text = try order.requiredSchema()
        if order.validate == true {
            let changes = try await ImportSchema(cloud).validate(text, in: place.container)
            return try .json(SchemaChangesBody(changes: changes.map(\.line)))
        }
        return try await logged("schema import", request) {
            let changes = try await ImportSchema(cloud).run(
                text, in: place.container, removesData: order.removeData ?? false, waits: false)
            return try .json(SchemaChangesBody(changes: changes.map(\.line)))
        }
    }

    /// Compares development with production, or the environment with a text.
    func diff(_ request: IncomingRequest) async throws -> EndpointResponse {
        let place = try request.place
        let order = try SchemaOrderBody(request.body, allowing: [.schema])
        let changes =
            if let text = order.schema {
                try await ExportSchema(cloud).difference(of: text, from: place.container, place.environment)
            } else {
                try await ExportSchema(cloud).difference(of: place.container)
            }
        return try .json(SchemaChangesBody(changes: changes.map(\.line)))
    }

    /// Deploys development's schema to production, or reports on it.
    func deploy(_ request: IncomingRequest) async throws -> EndpointResponse {
        let place = try request.place
        guard place.environment == .production else { throw Self.productionOnly }
        let order = try SchemaOrderBody(request.body, allowing: [.force, .validate])
        let deployment = DeploySchema(cloud)
        let report =
            if order.validate == true {
                try await deployment.report(on: place.container)
            } else {
                try await logged("schema deployment", request) {
                    try await deployment.run(of: place.container, force: order.force ?? false, waits: false)
                }
            }
        return try .json(
            DeploymentBody(
                changes: report.changes.map(\.line), isSafe: report.isSafe,
                findings: report.findings.map { FindingBody(kind: $0.kind.rawValue, text: $0.text) }))
    }

    /// Puts development back to production's schema, without data.
    func reset(_ request: IncomingRequest) async throws -> EndpointResponse {
        let place = try request.place
        guard place.environment == .development else { throw Self.noReset }
        return try await logged("schema reset", request) {
            try await ResetSchema(cloud).run(of: place.container)
            return .emptyObject
        }
    }

    /// Gives a user a custom role, or takes it away; without a role, lists the users of every role.
    func setRole(_ request: IncomingRequest) async throws -> EndpointResponse {
        let place = try request.place
        let order = try SchemaOrderBody(request.body, allowing: [.role, .userRecordName, .isGiven])
        if let role = order.role {
            guard let user = order.userRecordName else {
                throw RequestFailure(.badRequest, "\"userRecordName\" is missing")
            }
            try await SetRoles(cloud).run(
                role, isGiven: order.isGiven ?? true, to: UserID(user), in: place.container, place.environment)
        }
        let members = try await SetRoles(cloud).members(in: place.container, place.environment)
        return try .json(RolesBody(roles: members.mapValues { $0.map(\.recordName).sorted() }))
    }

    /// Carries an order out and reports it to the operator's log of lines, also when it failed; the entry in the log of requests is that of
    /// the request.
    private func logged<Value>(
        _ order: String, _ request: IncomingRequest, _ body: () async throws -> Value
    ) async throws -> Value {
        let place = try request.place
        guard case .operator(let token) = request.sender else { throw RequestFailure.endpointNotFound }
        request.subject.attributes["order"] = order
        return try await OperatorLog(logger: logger, log: nil, now: cloud.serverEnvironment.now)
            .report(order, by: token.id, in: place, body)
    }

    private static let noImport = RequestFailure(
        .accessDenied, "a schema is imported to development only", remedy: "Import it there, then deploy it.")
    private static let noReset = RequestFailure(.accessDenied, "production cannot be reset")
    private static let productionOnly = RequestFailure(
        .badRequest, "a schema is deployed to production", remedy: "Use the path of the production environment.")
}

/// An order about a schema as it is written; an unknown key is an error.
struct SchemaOrderBody: Decodable {
    enum Key: String, CodingKey, CaseIterable {
        case schema, validate, removeData, force, role, userRecordName, isGiven
    }

    var schema: String?
    var validate: Bool?
    var removeData: Bool?
    var force: Bool?
    var role: String?
    var userRecordName: String?
    var isGiven: Bool?

    /// Decodes a body; an empty one is an order without keys.
    ///
    /// - Throws: `badRequest` that names the keys that the endpoint takes, never a value.
    init(_ body: [UInt8], allowing keys: Set<Key>) throws(RequestFailure) {
        let body = body.isEmpty ? Array("{}".utf8) : body
        let names = try SmallJSON.decode([String: AnyValue].self, from: body).keys
        guard names.allSatisfy({ name in keys.contains { $0.rawValue == name } }) else {
            throw RequestFailure(
                .badRequest, "the order has a key that this endpoint does not take",
                remedy: "It takes: \(keys.map(\.rawValue).sorted().joined(separator: ", ")).")
        }
        self = try SmallJSON.decode(SchemaOrderBody.self, from: body)
    }

    /// Returns the schema's text.
    ///
    /// - Throws: `badRequest` when there is none.
    func requiredSchema() throws(RequestFailure) -> String {
        guard let schema else { throw RequestFailure(.badRequest, "\"schema\" is missing") }
        return schema
    }

    /// A value that is not looked at.
    private struct AnyValue: Decodable {
        init(from decoder: any Decoder) {}
    }
}

/// A schema as text.
private struct SchemaBody: Encodable {
    var schema: String
    var indexBuild: IndexBuildBody?
}

/// How far index builds are.
private struct IndexBuildBody: Encodable {
    var databasesDone: Int
    var databases: Int
    var records: Int

    init(_ databasesDone: Int, _ databases: Int, _ records: Int) {
        self.databasesDone = databasesDone
        self.databases = databases
        self.records = records
    }
}

/// The changes between two schemas, one line each.
private struct SchemaChangesBody: Encodable {
    var changes: [String]
}

/// A deployment, or the report on one.
private struct DeploymentBody: Encodable {
    var changes: [String]
    var isSafe: Bool
    var findings: [FindingBody]
}

/// One finding of a report.
private struct FindingBody: Encodable {
    var kind: String
    var text: String
}

/// The users of every custom role.
private struct RolesBody: Encodable {
    var roles: [String: [String]]
}
