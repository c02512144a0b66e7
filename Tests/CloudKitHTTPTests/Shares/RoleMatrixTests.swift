import AccessTable
import CloudKitAccounts
import CloudKitModel
import Foundation
import Testing

/// Every cell of the table of roles in `docs/access.md`, tried over HTTP.
@Suite(.timeLimit(.minutes(20))) struct RoleMatrixTests {
    @Test(arguments: ["development", "production"])
    func `B-DB-06, B-DB-07, B-DB-08 custom roles open and close the public database as the table says`(
        environment: String
    ) async throws {
        let table = try RoleTable()
        #expect(table.cells.count >= 150)
        try await TestCloud.run { cloud in
            let setting = try await RoleSetting(cloud, environment: environment, table: table)
            for (number, cell) in table.cells.enumerated() {
                let word = try await setting.attempt(cell, number)
                #expect(word == cell.word, "\(environment), \(cell.name)")
            }
        }
    }
}

/// A container whose types have the table's grants, and the table's callers.
private struct RoleSetting: Sendable {
    let cloud: TestCloud
    let environment: String
    /// The record types by their grants.
    private let types: [String: String]
    private var tokens: [RoleTable.Caller: TestCloud.Tokens] = [:]
    private var names: [RoleTable.Caller: String] = [:]
    private let operatorToken: String

    init(_ cloud: TestCloud, environment: String, table: RoleTable) async throws {
        self.cloud = cloud
        self.environment = environment
        let grants = Set(table.cells.map(\.grants)).sorted()
        types = Dictionary(uniqueKeysWithValues: zip(grants, (0..<grants.count).map { "Type\($0)" }))
        operatorToken = try await cloud.operatorToken()
        try await importSchema()
        for caller in RoleTable.Caller.allCases {
            if caller == .signedOut {
                tokens[caller] = try await apiToken(environment)
                continue
            }
            let tokens = try await signIn(caller, environment)
            self.tokens[caller] = tokens
            let answer = try await cloud.client.get(
                TestCloud.target("users/caller", "public", tokens, environment: environment))
            names[caller] = answer["userRecordName"] as? String
        }
        let other = environment == "production" ? "development" : "production"
        _ = try await signIn(.elsewhere, other)
        for role in ["editor", "reader"] { try await set(role, true, of: .elsewhere, other) }
        try await set("editor", true, of: .editor, environment)
        try await set("reader", true, of: .reader, environment)
    }

    /// Imports the types to development and deploys them.
    private func importSchema() async throws {
        let text =
            "DEFINE SCHEMA CREATE ROLE editor; CREATE ROLE reader;"
            + types.sorted { $0.key < $1.key }.map { grants, type in
                let grants = grants.matches(of: /[A-Z, ]+ TO "?\w+"?/)
                    .map { "GRANT " + $0.output.trimmingPrefix(", ") }.joined(separator: ", ")
                return "RECORD TYPE \(type) (\"___recordID\" REFERENCE QUERYABLE, n STRING QUERYABLE, \(grants));"
            }.joined()
        let body = String(decoding: try JSONSerialization.data(withJSONObject: ["schema": text]), as: UTF8.self)
        let imported = try await order("schema/import", "development", body)
        guard imported.status == 200 else { throw SettingError.refused(imported.body) }
        let deployed = try await order("schema/deploy", "production", #"{"force":true}"#)
        guard deployed.status == 200 else { throw SettingError.refused(deployed.body) }
    }

    private func order(_ action: String, _ environment: String, _ body: String) async throws -> RawClient.Answer {
        try await cloud.client.post(
            "/admin/1/\(TestCloud.container)/\(environment)/\(action)", body,
            headers: ["Authorization": "Bearer " + operatorToken])
    }

    private func set(_ role: String, _ isGiven: Bool, of caller: RoleTable.Caller, _ environment: String) async throws {
        let answer = try await order(
            "schema/roles", environment,
            #"{"role":"\#(role)","userRecordName":"\#(names[caller] ?? "")","isGiven":\#(isGiven)}"#)
        guard answer.status == 200 else { throw SettingError.refused(answer.body) }
    }

    private func apiToken(_ environment: String) async throws -> TestCloud.Tokens {
        let made = try await cloud.accountStore.apiTokens.create(
            container: ContainerID(TestCloud.container),
            environment: Environment(rawValue: environment) ?? .development,
            name: "")
        return TestCloud.Tokens(api: made.token)
    }

    private func signIn(_ caller: RoleTable.Caller, _ environment: String) async throws -> TestCloud.Tokens {
        let email = "\(caller.rawValue)@example.com"
        let accounts = cloud.accountStore.accounts
        if try await accounts.account(email: email) == nil {
            _ = try await accounts.add(
                email: email, name: "", proof: TestCloud.proof, derivation: accounts.newDerivation(rounds: 1))
        }
        var tokens = try await apiToken(environment)
        let answer = try await cloud.client.post(
            "/device/1/\(TestCloud.container)/\(environment)/sessions/create?ckAPIToken=\(tokens.api)",
            #"{"email":"\#(email)","proof":"\#(TestCloud.proofText)","deviceName":"Test","lifetime":"device"}"#)
        guard let web = answer["ckWebAuthToken"] as? String else { throw SettingError.refused(answer.body) }
        tokens.web = web
        return tokens
    }

    enum SettingError: Error {
        case refused(String)
    }
}

extension RoleSetting {
    /// Does what a cell says with a record of its own, and returns the table's word for the outcome.
    func attempt(_ cell: RoleTable.Cell, _ number: Int) async throws -> String {
        let type = types[cell.grants] ?? ""
        let name = "R\(number)"
        if cell.verb != "create" {
            // With the role, which is taken away again: a role counts when something is done, not when a record was made.
            try await set("editor", true, of: .creator, environment)
            let made = try await modify("create", type, name, as: .creator)
            try await set("editor", false, of: .creator, environment)
            guard made == "yes" else { throw SettingError.refused(made) }
        }
        switch cell.verb {
        case "create": return try await modify("create", type, name, as: cell.caller)
        case "change": return try await modify("forceUpdate", type, name, as: cell.caller)
        case "delete": return try await modify("forceDelete", type, name, as: cell.caller)
        case "look up":
            let answer = try await post(
                "records/lookup", #"{"records":[{"recordName":"\#(name)"}]}"#, as: cell.caller)
            return try word(of: answer)
        case "query":
            let answer = try await post(
                "records/query",
                """
                {"query":{"recordType":"\(type)","filterBy":[{"fieldName":"n","comparator":"EQUALS",\
                "fieldValue":{"value":"\(name)"}}]}}
                """, as: cell.caller)
            guard answer.status == 200 else { return try word(of: answer) }
            return (answer["records"] as? [Any])?.isEmpty == false ? "yes" : "hide"
        default: throw SettingError.refused("unknown verb \(cell.verb)")
        }
    }

    private func modify(
        _ operation: String, _ type: String, _ name: String, as caller: RoleTable.Caller
    ) async throws -> String {
        let answer = try await post(
            "records/modify",
            """
            {"operations":[{"operationType":"\(operation)","record":{"recordName":"\(name)","recordType":"\(type)",\
            "fields":{"n":{"value":"\(name)"}}}}]}
            """, as: caller)
        return try word(of: answer)
    }

    private func post(
        _ endpoint: String, _ body: String, as caller: RoleTable.Caller
    ) async throws -> RawClient.Answer {
        try await cloud.client.post(
            TestCloud.target(endpoint, "public", tokens[caller], environment: environment), body)
    }

    private func word(of answer: RawClient.Answer) throws -> String {
        var code = answer["serverErrorCode"] as? String
        if answer.status == 200 { code = answer["records", "0", "serverErrorCode"] as? String }
        switch code {
        case nil where answer.status == 200: return "yes"
        case "ACCESS_DENIED"?: return "deny"
        case "NOT_FOUND"?: return "hide"
        case "AUTHENTICATION_REQUIRED"?: return "sign in"
        default: throw SettingError.refused(answer.body)
        }
    }
}
