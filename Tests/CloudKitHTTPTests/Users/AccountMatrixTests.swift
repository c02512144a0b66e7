import AccessTable
import CloudKitAccounts
import CloudKitModel
import Foundation
import SimulatedSigners
import Testing
import WebCredentials

/// Every cell of the table of accounts in `docs/access.md`, tried over HTTP.
@Suite(.timeLimit(.minutes(20))) struct AccountMatrixTests {
    @Test func `devices and pages of the cloud reach an account as the table says`() async throws {
        let table = try AccountTable()
        #expect(table.cells.count >= 98)
        try await TestCloud.run(.init(port: 0, publicURL: "https://cloud.example.com"), rounds: 1) { cloud in
            for (number, cell) in table.cells.enumerated() {
                let word = try await Self.attempt(cell, number, cloud)
                #expect(word == cell.word, "\(cell.name)")
            }
        }
    }

    private static let page = "welkin.account"
    private static let otherProof = Data(repeating: 2, count: 32).base64EncodedString()

    /// Sends a cell's request for an account of its own, and returns the table's word for the outcome.
    private static func attempt(_ cell: AccountTable.Cell, _ number: Int, _ cloud: TestCloud) async throws -> String {
        let email = "user\(number)@example.com"
        let accounts = cloud.accountStore.accounts
        _ = try await accounts.add(
            email: email, name: "", proof: TestCloud.proof, derivation: accounts.newDerivation(rounds: 1))
        let isPage = cell.caller == .cloudPage
        let container = isPage ? page : TestCloud.container
        let environment = isPage ? "production" : "development"
        let token =
            isPage
            ? PageTokens(cloud.accountStore.serverEnvironment).token(
                container: ContainerID(page), environment: .production)
            : try await cloud.apiToken().api
        func send(_ action: String, _ body: [String: Any], web: String? = nil) async throws -> RawClient.Answer {
            let query = "?ckAPIToken=\(token)" + (web.map { "&ckWebAuthToken=\($0)" } ?? "")
            return try await cloud.client.post(
                "/device/1/\(container)/\(environment)/\(action)\(query)",
                String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self))
        }
        func session(_ lifetime: String) async throws -> RawClient.Answer {
            try await send(
                "sessions/create",
                ["email": email, "proof": TestCloud.proofText, "deviceName": "Test", "lifetime": lifetime])
        }
        let device = try await session("device")
        let keychain = [
            "passwordWrap": otherProof, "recoveryWrap": otherProof, "recoveryProof": otherProof, "identity": otherProof,
        ]
        if ["keychain/rewrap", "keychain/open", "approvals/create"].contains(cell.endpoint) {
            var body: [String: Any] = keychain
            for key in ["deviceID", "deviceSecret"] { body[key] = device[key] }
            #expect(try await send("keychain/create", body).status == 200)
        }
        let other = try await session("device")
        var body: [String: Any] = [:]
        var web: String?
        switch cell.caller {
        case .device, .endedDevice, .wrongSecret, .wrongPassword:
            body["deviceID"] = device["deviceID"]
            body["deviceSecret"] = cell.caller == .wrongSecret ? otherProof : device["deviceSecret"]
            if cell.caller == .endedDevice { #expect(try await send("sessions/delete", body).status == 200) }
        case .cloudPage, .appPage: web = try await session("session")["ckWebAuthToken"] as? String
        case .signedOut: break
        }
        let proof = cell.caller == .wrongPassword ? otherProof : TestCloud.proofText
        switch cell.endpoint {
        case "accounts/delete": body["proof"] = proof
        case "accounts/password":
            body["proof"] = proof
            body["newProof"] = otherProof
            body["salt"] = Data(repeating: 9, count: 16).base64EncodedString()
            body["rounds"] = 1
        case "devices/revoke": body["revoke"] = other["deviceID"]
        case "devices/rename":
            body["rename"] = other["deviceID"]
            body["name"] = "Another"
        case "keychain/open": body["proof"] = proof
        case "approvals/create": body["commitment"] = otherProof
        case "passkeys/begin": body["purpose"] = "agreement"
        case "passkeys/create", "passkeys/delete":
            var authenticator = SimulatedAuthenticator(key: try .key(.eddsa))
            authenticator.id = Array("\(cell.endpoint) \(number)".utf8)
            let id = try #require(other["deviceID"] as? String)
            let secret = try #require(other["deviceSecret"] as? String)
            let owner = DeviceKey(id: id, secret: Array(Data(base64Encoded: secret) ?? Data()))
            let passkeys = cloud.accountStore.passkeys(ProofLimiter(roundsMin: 1))
            let challenge = try await passkeys.begin(isNew: true, by: .device(owner)).challenge
            let made = try authenticator.register(challenge)
            if cell.endpoint == "passkeys/create" {
                body["name"] = "Key"
                body["clientData"] = Data(made.clientData).base64EncodedString()
                body["attestation"] = Data(made.attestation).base64EncodedString()
                body["proof"] = proof
            } else {
                let party = try #require(RelyingParty(url: "https://cloud.example.com"))
                _ = try await passkeys.add(
                    Passkeys.Addition(
                        name: "Key", ceremony: PasskeyCeremony(clientData: made.clientData, party: party),
                        attestation: made.attestation, wrap: nil, generation: nil),
                    proof: .password(TestCloud.proof), by: .device(owner), address: "")
                body["id"] = Data(authenticator.id).base64EncodedString()
            }
        case "keychain/create": body.merge(keychain) { $1 }
        case "keychain/rewrap":
            body["proof"] = proof
            body["generation"] = 1
            body["recoveryWrap"] = otherProof
            body["recoveryProof"] = otherProof
        default: break
        }
        let answer = try await send(cell.endpoint, body, web: web)
        switch (answer.status, answer["serverErrorCode"] as? String) {
        case (200, _): return "yes"
        case (_, "ACCESS_DENIED"): return "deny"
        case (_, "AUTHENTICATION_FAILED"): return "out"
        case (_, "AUTHENTICATION_REQUIRED"): return "sign in"
        case (_, "BAD_REQUEST"): return "bad"
        default: return answer.body
        }
    }

    @Test func `a page of the cloud gets a token for each container with data, which ends with its session`()
        async throws
    {
        try await TestCloud.run(rounds: 1) { cloud in
            let tokens = try await cloud.signIn()
            _ = try await cloud.client.post(
                TestCloud.target("records/modify", "private", tokens),
                #"{"operations":[{"operationType":"create","record":{"recordName":"n","recordType":"Note"}}]}"#)
            let api = PageTokens(cloud.accountStore.serverEnvironment).token(
                container: ContainerID(Self.page), environment: .production)
            let path = "/device/1/\(Self.page)/production/"
            let session = try await cloud.client.post(
                "\(path)sessions/create?ckAPIToken=\(api)",
                #"{"email":"ada@example.com","proof":"\#(TestCloud.proofText)","deviceName":"Page","lifetime":"session"}"#
            )
            let web = try #require(session["ckWebAuthToken"] as? String)
            let query = "?ckAPIToken=\(api)&ckWebAuthToken=\(web)"
            let data = try await cloud.client.post(path + "accounts/data" + query, "{}")
            let containers = try #require(data["containers"] as? [[String: Any]])
            #expect(containers.map { $0["container"] as? String } == [TestCloud.container])
            // The record of the user is one, too.
            #expect(containers.first?["records"] as? Int == 2)
            let own = TestCloud.Tokens(
                api: try #require(containers.first?["apiToken"] as? String),
                web: containers.first?["ckWebAuthToken"] as? String)
            let list = TestCloud.target("records/list", "private", own)
            let records = try await cloud.client.post(list, "{}")
            #expect(records.status == 200 && (records["records"] as? [Any])?.count == 2)
            // Pages of other origins may not use the token.
            let foreign = try await cloud.client.post(list, "{}", headers: ["Origin": "https://evil.example"])
            #expect(foreign.status == 401)
            let named = try await cloud.client.post(
                path + "accounts/data" + query, #"{"containers":["\#(TestCloud.container)","iCloud.com.example.none"]}"#
            )
            #expect((named["containers"] as? [Any])?.count == 1)
            #expect(
                try await cloud.client.post(path + "accounts/data" + query, #"{"containers":["../x"]}"#).status == 400)
            #expect(try await cloud.client.post(path + "sessions/delete" + query, "{}").status == 200)
            #expect(try await cloud.client.post(list, "{}").status == 421)
            #expect(try await cloud.client.post(path + "accounts/data" + query, "{}").status != 200)
        }
    }
}
