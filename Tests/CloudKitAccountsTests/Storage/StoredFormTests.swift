import CloudKitModel
import CloudKitRecordLayer
import Foundation
import Testing

@testable import CloudKitAccounts

/// Pins the keys and values of stored rows: stores of every earlier version hold them.
@Suite(.timeLimit(.minutes(20))) struct StoredFormTests {
    private let people = TestAccounts()

    /// Expects exactly these rows under keys that begin with a text; JSON objects are equal if their properties are, in
    /// any order.
    private func expect(_ rows: [String: String], under prefix: String, at location: SourceLocation = #_sourceLocation)
        async throws
    {
        let entries = try await people.entries(prefix: prefix)
        #expect(entries.map(\.key) == rows.keys.sorted(), sourceLocation: location)
        for (key, value) in entries {
            let expected = try #require(rows[key], sourceLocation: location)
            #expect(try Self.normalised(value) == Self.normalised(Array(expected.utf8)), sourceLocation: location)
        }
    }

    private static func normalised(_ bytes: [UInt8]) throws -> String {
        guard bytes.first == UInt8(ascii: "{") else { return String(decoding: bytes, as: UTF8.self) }
        let object = try JSONSerialization.jsonObject(with: Data(bytes))
        return String(
            decoding: try JSONSerialization.data(
                withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes]), as: UTF8.self)
    }

    private func set<Row: RowValue>(_ table: RowTable<String, Row>, _ key: String, _ json: String) async throws {
        let row = try Row(rowBytes: Array(json.utf8))
        try await people.store.write { try table.set(key, to: row, in: &$0) }
    }

    @Test func `account, address, session and user names`() async throws {
        let account = try await people.addAda()
        let (place, _) = try await people.place()
        let device = try await people.signIn.create(
            email: "ada@example.com", proof: TestAccounts.proof, deviceName: "phone", lifetime: .device, place: place,
            address: "")
        let browser = try await people.signIn.create(
            email: "ada@example.com", proof: TestAccounts.proof, deviceName: "web", lifetime: .session, place: place,
            address: "")
        try await expect(["email/ada@example.com": account.id], under: "email/")
        try await expect(
            ["session-owner/\(device.deviceID)": account.id, "session-owner/\(browser.deviceID)": account.id],
            under: "session-owner/")
        try await expect(["user/\(account.id)/\(people.container.name)": device.user.recordName], under: "user/")
        try await expect(["user-account/\(device.user.recordName)": account.id], under: "user-account/")
        #expect(try await people.entries(prefix: "account/").map(\.key) == ["account/\(account.id)"])
        #expect(
            try await people.entries(prefix: "session/").map(\.key)
                == [device.deviceID, browser.deviceID].sorted().map { "session/\(account.id)/\($0)" })
    }

    @Test func `passkeys, people of a provider, and what was used once`() async throws {
        let passkey = Passkey(
            id: [9], account: "1a", name: "Key", party: "cloud.example.com", publicKey: [7], counter: 3,
            isBackedUp: true,
            created: 4, used: 5, wrap: [6], generation: 1)
        let identity = ProviderIdentity(
            issuer: "https://id.example.com", subject: "ada", account: "1a", created: 4)
        try await people.store.write { transaction in
            try Passkey.table.set(passkey.rowKey, to: passkey, in: &transaction)
            try transaction.set(identity)
            _ = try await transaction.spend("name", until: 1_700_000_600_000, now: 1_700_000_000_000)
        }
        try await expect(
            [
                "passkey/1a/2b4c342f5433ebe591a1da77e013d1b72475562d48578dca8b84bac6651c3cb9": """
                {"id":[9],"account":"1a","name":"Key","party":"cloud.example.com","publicKey":[7],"counter":3,\
                "isBackedUp":true,"created":4,"used":5,"wrap":[6],"generation":1}
                """
            ], under: "passkey/")
        let hash = "c119c020f42c5e2ea14f9cecad0e970e05a14627c4370944fe60a69adb178016"
        try await expect(
            [
                "provider-identity/1a/\(hash)":
                    #"{"issuer":"https://id.example.com","subject":"ada","account":"1a","created":4}"#
            ], under: "provider-identity/")
        try await expect(["provider-owner/\(hash)": "1a"], under: "provider-owner/")
        try await expect(
            ["spent-token/0001700000600000-name": #"{"expires":1700000600000}"#], under: "spent-token/")
    }

    @Test func `a session of a device and one of a browser`() async throws {
        let device = """
            {"id":"2b","account":"1a","name":"phone","created":1,"expires":2,"secretHash":[3],"keychainGeneration":4}
            """
        let browser = #"{"id":"3c","account":"1a","name":"web","created":1,"expires":2}"#
        for (id, json) in [("2b", device), ("3c", browser)] {
            let row = try DeviceSession(rowBytes: Array(json.utf8))
            try await people.store.write {
                try DeviceSession.table.set(OwnedRowKey(owner: "1a", name: id), to: row, in: &$0)
            }
        }
        try await expect(["session/1a/2b": device, "session/1a/3c": browser], under: "session")
        #expect(try await people.store.sessions.sessions(ofAccount: "1a").map(\.isBrowser) == [false, true])
    }

    @Test func `an account with a keychain that is being reset`() async throws {
        let json = """
            {"id":"1a","email":"a@b","name":"A B","created":5,"isDisabled":true,"lock":{"salt":[1],"rounds":2,\
            "verifierSalt":[3],"verifier":[4]},"keychains":3,"resetting":true}
            """
        try await set(Account.table, "1a", json)
        try await expect(["account/1a": json], under: "account")
        let account = try #require(try await people.accounts.account(id: "1a"))
        #expect(account.keychainGeneration == 3 && account.isResettingKeys && account.isDisabled)
    }

    @Test func `a keychain and its reset`() async throws {
        let keychain = """
            {"generation":1,"passwordWrap":[1],"recoveryWrap":[2],"identity":[3],"recovery":{"salt":[4],"hash":[5]}}
            """
        try await set(Keychain.table, "1a", keychain)
        try await set(KeyReset.table, "1a", #"{"account":"1a","begun":7}"#)
        try await expect(
            ["keychain/1a": keychain, "key-reset/1a": #"{"account":"1a","begun":7}"#], under: "key")
    }

    @Test func `tokens of apps and operators, and the keys of servers`() async throws {
        let app = """
            {"hash":"ab","container":"iCloud.a","environment":"development","name":"n","allowedOrigins":["https://a"],\
            "callback":"https://b","created":1,"isRevoked":false}
            """
        let plain = """
            {"hash":"cd","container":"iCloud.a","environment":"production","name":"","allowedOrigins":[],"created":1,\
            "isRevoked":true}
            """
        try await set(APIToken.table, "ab", app)
        try await set(APIToken.table, "cd", plain)
        try await expect(["api-token/ab": app, "api-token/cd": plain], under: "api-token/")
        let token = #"{"hash":"ef","name":"CI","created":2,"isRevoked":false}"#
        try await set(OperatorToken.table, "ef", token)
        let limited = #"{"hash":"gh","name":"","container":"iCloud.a","created":2,"isRevoked":false}"#
        try await set(OperatorToken.table, "gh", limited)
        try await expect(["operator-token/ef": token, "operator-token/gh": limited], under: "operator-token/")
        let key = """
            {"id":"09","container":"iCloud.a","environment":"development","name":"n","publicKey":"PEM",\
            "userRecordName":"_u","created":3,"isRevoked":false}
            """
        try await set(ServerKey.table, "09", key)
        try await expect(["server-key/09": key], under: "server-key/")
    }
}
