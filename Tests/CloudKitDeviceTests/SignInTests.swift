import CloudKitDevice
import CloudKitEncryption
import Foundation
import Synchronization
import Testing
import TextEncodings

@Suite(.timeLimit(.minutes(20))) struct SignInTests {
    let folder: TestFolder
    let configuration: DeviceConfiguration

    init() throws {
        folder = try TestFolder()
        configuration = DeviceConfiguration(
            endpoint: "http://localhost:1", container: "iCloud.a", apiToken: "a/b", profilesFolder: folder.path)
    }

    /// A cloud that gives prepared answers and records the requests.
    private final class FakeCloud: Sendable {
        let requests = Mutex<[DeviceRequest]>([])
        let answers: Mutex<[DeviceResponse]>

        init(_ answers: (Int, String)...) {
            self.answers = Mutex(answers.map { DeviceResponse(status: $0.0, body: Array($0.1.utf8)) })
        }

        var send: DeviceTransport {
            { request in
                self.requests.withLock { $0.append(request) }
                return self.answers.withLock { $0.removeFirst() }
            }
        }
    }

    private static let puzzle = #"{"salt":"MDEyMzQ1Njc4OWFiY2RlZg==","rounds":1000}"#
    private static let session =
        #"{"ckWebAuthToken":"w","userRecordName":"_u","deviceID":"d","deviceSecret":"c2VjcmV0","expires":9000000000000}"#

    @Test func `the proof is PBKDF2 and HKDF of the normalised password`() throws {
        let salt = Array("0123456789abcdef".utf8)
        let proof = try PasswordProof(password: "correct horse", salt: salt, rounds: 1000)
        let hex = proof.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(hex == "799fac1e873354d8a1b390d96cc9a91add35441a1f70e8558ccba07e317ee790")
        #expect(
            try PasswordProof(password: "caf\u{e9}", salt: salt, rounds: 1)
                == PasswordProof(password: "cafe\u{301}", salt: salt, rounds: 1))
    }

    @Test func `signing in proves the password without sending it`() async throws {
        let cloud = FakeCloud((200, Self.puzzle), (200, Self.session), (200, #"{"generation":1}"#))
        let outcome = try await SignIn(configuration: configuration, rounds: 1000, send: cloud.send).signIn(
            email: "ada@example.com", password: "correct horse", deviceName: "Laptop", container: "iCloud.a")
        let credentials = outcome.credentials
        #expect(try configuration.deviceProfile.credentials() == credentials)
        #expect(credentials["iCloud.a", "development"]?.webAuthToken == "w")
        let requests = cloud.requests.withLock { $0 }
        #expect(
            requests.map(\.url) == [
                "http://localhost:1/device/1/iCloud.a/development/sessions/prepare?ckAPIToken=a%2Fb",
                "http://localhost:1/device/1/iCloud.a/development/sessions/create?ckAPIToken=a%2Fb",
                "http://localhost:1/device/1/iCloud.a/development/keychain/create?ckAPIToken=a%2Fb",
            ])
        #expect(!requests.contains { String(decoding: $0.body, as: UTF8.self).contains("correct horse") })
    }

    @Test func `a refusal is reported with its reason and changes nothing`() async throws {
        let cloud = FakeCloud(
            (200, Self.puzzle), (429, #"{"reason":"too many failed sign-ins","retryAfter":12.5}"#))
        let refusal = Refusal(status: 429, reason: "too many failed sign-ins", retryAfter: 12.5)
        await #expect(throws: SignInError.refused(refusal)) {
            try await SignIn(configuration: configuration, rounds: 1000, send: cloud.send).signIn(
                email: "ada@example.com", password: "x", deviceName: "", container: "iCloud.a")
        }
        #expect(configuration.deviceProfile.accountState == .noAccount)
    }

    @Test(arguments: [
        #"{"salt":"MDEyMw==","rounds":2000000000}"#, #"{"salt":"MDEyMw==","rounds":0}"#, #"{"salt":"!","rounds":1}"#,
        "<html>",
    ])
    func `a cloud that asks for the impossible is not obeyed`(puzzle: String) async throws {
        let cloud = FakeCloud((200, puzzle))
        await #expect(throws: SignInError.answerMalformed) {
            try await SignIn(configuration: configuration, rounds: 1, send: cloud.send).signIn(
                email: "ada@example.com", password: "x", deviceName: "", container: "iCloud.a")
        }
    }

    @Test func `a device goes on asking for keys when answers of the cloud are lost`() async throws {
        struct Lost: Error {}
        let cloud = FakeCloud(
            (200, Self.puzzle), (200, Self.session), (200, #"{"generation":1}"#),
            (200, #"{"deviceID":"d","expires":9000000000000}"#), (503, "{}"), (0, ""),
            (
                200,
                #"{"requests":[{"deviceID":"d","name":"","isBrowser":false,"address":"","created":1,"expires":2,"isCaller":true,"#
                    + #""state":"refused","commitment":"AA==","identity":"AA=="}]}"#
            ), (200, "{}"))
        let signIn = SignIn(configuration: configuration, rounds: 1000) { request in
            let response = try await cloud.send(request)
            if response.status == 0 { throw Lost() }
            return response
        }
        _ = try await signIn.signIn(
            email: "ada@example.com", password: "correct horse", deviceName: "Laptop", container: "iCloud.a")
        let pauses = Mutex(0)
        await #expect(throws: KeyRequestError.refused) {
            try await signIn.requestKeys(
                container: "iCloud.a", pause: { pauses.withLock { $0 += 1 } }, report: { _ in }, confirm: { nil })
        }
        #expect(pauses.withLock { $0 } == 2)
        #expect(cloud.answers.withLock { $0.isEmpty })
    }

    /// What users leave in a profile, beside credentials and keys.
    private static let leftovers = [
        "record-versions/a", "zone-states/a", "share-links.json",
        "opened-shares.json",
    ]

    /// Signs in, leaves files behind and signs in again with the same address.
    ///
    /// - Returns: The account states of before and after, and the files that are left.
    private func signInAgain(
        _ again: (Int, String)..., container: String = "iCloud.a"
    ) async throws -> (before: AccountState, after: AccountState, left: Set<String>) {
        func signIn(_ answers: [(Int, String)], _ container: String) async throws {
            let cloud = FakeCloud()
            cloud.answers.withLock {
                $0 = ([(200, Self.puzzle)] + answers + [(200, "{}")]).map {
                    DeviceResponse(status: $0.0, body: Array($0.1.utf8))
                }
            }
            let configuration = DeviceConfiguration(
                endpoint: configuration.endpoint, container: container, apiToken: "a/b", profilesFolder: folder.path)
            _ = try await SignIn(configuration: configuration, rounds: 1000, send: cloud.send).signIn(
                email: "ada@example.com", password: "correct horse", deviceName: "Laptop", container: container)
        }
        try await signIn([(200, Self.session), (200, #"{"generation":1}"#)], "iCloud.a")
        let profile = configuration.deviceProfile
        let before = profile.accountState
        for name in Self.leftovers {
            let path = URL(fileURLWithPath: profile.folder + "/" + name)
            try FileManager.default.createDirectory(
                at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data("[]".utf8).write(to: path)
        }
        try await signIn(again, container)
        let left = Self.leftovers.filter { FileManager.default.fileExists(atPath: profile.folder + "/" + $0) }
        return (before, profile.accountState, Set(left))
    }

    @Test func `B-TM-15 what a profile knows of a cloud's restorations outlives the session, without names`()
        async throws
    {
        let cloud = FakeCloud(
            (200, Self.puzzle), (200, Self.session), (200, #"{"generation":1}"#), (200, "{}"))
        let signIn = SignIn(configuration: configuration, rounds: 1000, send: cloud.send)
        _ = try await signIn.signIn(
            email: "ada@example.com", password: "correct horse", deviceName: "Laptop", container: "iCloud.a")
        let profile = configuration.deviceProfile
        var known = CloudRestorations()
        known.note(epoch: "1", restoredTo: 0, of: configuration.endpoint, now: 1)
        known.note(epoch: "2", restoredTo: 7, of: configuration.endpoint, now: 9)
        known.note(older: ["Diary/today"], returned: ["Diary/gone"], of: configuration.endpoint)
        let folder = profile.folder + "/record-versions"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try JSONEncoder().encode(known).write(to: URL(fileURLWithPath: folder + "/restorations.json"))
        try Data().write(to: URL(fileURLWithPath: folder + "/zone"))
        try await signIn.signOut(container: "iCloud.a")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(files == ["restorations.json", "restorations.json.lock"])
        let kept = try #require(try profile.restorations().clouds[configuration.endpoint])
        #expect(kept.epoch == "2")
        #expect(kept.claims.map(\.restoredTo) == [7])
        #expect(kept.claims.allSatisfy { $0.older.isEmpty && $0.returned.isEmpty && $0.accepted == nil })
        try profile.acceptRestorations(of: configuration.endpoint)
        #expect(try profile.restorations().clouds[configuration.endpoint]?.claims.last?.accepted != nil)
    }

    @Test func `B-TM-15 where no cloud says that it was restored, there is nothing to accept`() throws {
        let profile = configuration.deviceProfile
        try FileManager.default.createDirectory(atPath: profile.folder, withIntermediateDirectories: true)
        try profile.acceptRestorations(of: configuration.endpoint)
        #expect(try FileManager.default.contentsOfDirectory(atPath: profile.folder).isEmpty)
    }

    private static func session(of user: String, keychain: String = "") -> String {
        #"{"ckWebAuthToken":"w","userRecordName":"\#(user)","deviceID":"e","deviceSecret":"c2VjcmV0","expires":9000000000000\#(keychain)}"#
    }

    @Test func `B-ACC-03 the account of the same address that was made after one was removed is another user`()
        async throws
    {
        let (before, after, left) = try await signInAgain(
            (200, Self.session(of: "_v")), (200, #"{"generation":1}"#))
        #expect(after.isOtherUser(than: before))
        #expect(left.isEmpty)
    }

    @Test func `B-ACC-03 a user who signs in again is the same one`() async throws {
        let (before, after, left) = try await signInAgain(
            (200, Self.session(of: "_u")), (200, #"{"generation":1}"#))
        #expect(!after.isOtherUser(than: before))
        #expect(after != before)
        #expect(left == Set(Self.leftovers))
    }

    @Test(arguments: ["_u", "_v"])
    func `B-ACC-03 a user who signs in again with another container is known by the name in the first`(
        user: String
    ) async throws {
        let (before, after, left) = try await signInAgain(
            (200, Self.session(of: "_x")), (200, #"{"generation":1}"#), (200, Self.session(of: user)),
            container: "iCloud.b")
        #expect(after.isOtherUser(than: before) == (user == "_v"))
        #expect(left.isEmpty == (user == "_v"))
    }

    @Test
    func `a cloud that says another user has signed in makes no device forget records that its keys may open`()
        async throws
    {
        let secret = AccountSecret()
        let salt = Array("0123456789abcdef".utf8)
        let wrap = try secret.sealed(
            under: PasswordRoot(password: "another", salt: salt, rounds: 1000).wrappingKey, account: "ada@example.com")
        let identity = try secret.identity().publicIdentity.bytes
        let keychain =
            #","keychain":{"generation":1,"passwordWrap":"\#(Base64.encode(wrap))","identity":"\#(Base64.encode(identity))"}"#
        let (before, after, left) = try await signInAgain((200, Self.session(of: "_v", keychain: keychain)))
        #expect(after.isOtherUser(than: before))
        #expect(left == ["record-versions/a", "zone-states/a"])
    }

    @Test func `a signed-in device opens further containers without the password`() async throws {
        let cloud = FakeCloud(
            (200, Self.puzzle), (200, Self.session), (200, #"{"generation":1}"#), (200, Self.session), (200, "{}"))
        var configuration = configuration
        configuration.apiTokens = ["iCloud.b": "b"]
        let signIn = SignIn(configuration: configuration, rounds: 1000, send: cloud.send)
        _ = try await signIn.signIn(email: "a@b", password: "x", deviceName: "", container: "iCloud.a")
        #expect(try await signIn.open(container: "iCloud.b")?.apiToken == "b")
        #expect(try configuration.deviceProfile.credentials()?.containers.count == 2)
        await #expect(throws: SignInError.apiTokenMissing("iCloud.c")) { try await signIn.open(container: "iCloud.c") }
        let memories = ["record-versions", "zone-states"].map { configuration.deviceProfile.folder + "/" + $0 }
        for memory in memories {
            try PrivateFile.makeFolder(memory)
            try PrivateFile.replace(memory + "/00", with: [1])
        }
        try await signIn.signOut(container: "iCloud.a")
        #expect(configuration.deviceProfile.accountState == .noAccount)
        // What the device remembers of the account's zones is gone.
        for memory in memories { #expect(!FileManager.default.fileExists(atPath: memory)) }
        #expect(try await signIn.open(container: "iCloud.a") == nil)
    }
}
