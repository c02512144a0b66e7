import CloudKitDevice
import CloudKitEncryption
import CloudKitTesting
import Foundation
import ScriptedCloud
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Sign-in, keychains and devices.
@Suite(.timeLimit(.minutes(20))) struct AccountAttackTests {
    @Test(arguments: Attack.of(.accounts))
    func `B-TM-12 a cloud that exchanges keychains and accounts`(_ attack: Attack) async throws {
        try await Stage.check(attack) { stage in try await stage.playAccounts() }
    }
}

extension Stage {
    fileprivate func playAccounts() async throws {
        try await makeFolder()
        let ghost = try await ghost()
        let (identity, name) = (try ghost.publicIdentity, ghost.userName)
        let ghosts = try #require(liar.traffic.last { $0.person == "ghost" && $0.endpoint == "keychain/create" })
        let laptop = cloud.unsignedDevice("ada/laptop")
        let rounds = 9
        switch attack {
        case .keychainIdentitySwapped:
            try await signIn(laptop) { $0["keychain", "identity"] = identity }
        case .keychainOfOtherAccount:
            let wrap = ghosts.request["passwordWrap"]
            try await signIn(laptop) {
                $0["keychain", "passwordWrap"] = wrap
                $0["keychain", "identity"] = identity
            }
        case .keychainHidden:
            try await playHiddenKeychain(laptop)
        case .roundsLowered:
            try await lie { exchange in
                if exchange.endpoint == "sessions/prepare" { exchange.change { $0["rounds"] = JSON(rounds) } }
            } during: {
                try await cloud.signIn(laptop)
            }
        case .saltOfOtherAccount:
            try await playOtherSalt(laptop)
        case .userNameSwapped:
            try await signIn(laptop) { $0["userRecordName"] = .string(name) }
        case .ghostDevice:
            try await playGhostDevice()
        default: Issue.record("\(attack) is not an attack of accounts")
        }
        let tablet = try await device("ada", "tablet")
        #expect(try await text("One", tablet.own) == "secret text of One")
    }

    /// Signs in with a changed answer, and reads.
    private func signIn(_ device: Device, _ change: @escaping @Sendable (inout JSON) -> Void) async throws {
        try await lie { exchange in
            if exchange.endpoint == "sessions/create" { exchange.change(change) }
        } during: {
            try await cloud.signIn(device)
            try await read("secret text of One", of: "One", device.own)
        }
    }

    /// The device makes its proof and its wrapping key with another salt. The real cloud would refuse the proof; this one accepts it, and
    /// answers as it answered another device of the account.
    private func playOtherSalt(_ laptop: Device) async throws {
        _ = try await device("ada", "tablet")
        let salt = try #require(liar.traffic.last { $0.person == "ghost" && $0.endpoint == "sessions/prepare" })
            .answer["salt"]
        let session = try #require(liar.traffic.last { $0.person == "ada" && $0.endpoint == "sessions/create" })
        #expect(session.answer["keychain", "passwordWrap"] != nil)
        try await lie { exchange in
            if exchange.endpoint == "sessions/prepare" { exchange.change { $0["salt"] = salt } }
            guard exchange.endpoint == "sessions/create" else { return }
            (exchange.status, exchange.body) = (session.status, session.body)
        } during: {
            try await cloud.signIn(laptop)
            try await read("secret text of One", of: "One", laptop.own)
        }
    }

    /// The cloud says that the account has no keys, so that a device makes others.
    private func playHiddenKeychain(_ laptop: Device) async throws {
        let hide: Liar.Lie = { exchange in
            guard exchange.device == laptop.name else { return }
            if exchange.endpoint == "sessions/create" { exchange.change { $0["keychain"] = nil } }
            if exchange.endpoint == "keychain/create" {
                exchange.status = 200
                exchange.body = Array(#"{"generation":1}"#.utf8)
            }
        }
        try await lie(hide) {
            try await cloud.signIn(laptop)
            try await read("secret text of One", of: "One", laptop.own)
        }
    }

    /// A device that the cloud signs in for the account, as it can without the password: it has everything but the keys.
    private func playGhostDevice() async throws {
        let ada = try await device("ada")
        guard !isHonest else { return }
        let token = try #require(try await ada.container.connection.cloud.account.webAuthToken())
        let account = ScriptedAccount(
            state: .available(AccountState.Device(email: HostileCloud.email("ada"), id: "ghost")),
            apiToken: ada.configuration.apiToken,
            tokens: [token])
        let container = CKContainer(
            identifier: HostileCloud.container, endpoint: cloud.running.endpoint, account: account,
            transport: LyingTransport(liar: liar, device: "ada/ghost", real: HTTPTransport.shared))
        try await lie { _ in
        } during: {
            noteLie()
            let error = await #expect(throws: CKError.self) {
                _ = try await container.privateCloudDatabase.record(for: Self.id("One")).encryptedValues["text"]
            }
            #expect(error?.code == .accountTemporarilyUnavailable)
        }
        // The keychain, as the cloud keeps it, with all wrapping keys that a ghost can make.
        let wraps = liar.traffic.flatMap { [$0.request, $0.answer] }.flatMap(\.texts).compactMap(Base64Text.decode)
            .filter { $0.count == 61 }
        #expect(!wraps.isEmpty)
        let salts = liar.traffic.compactMap { $0.answer["salt"]?.base64 } + [[]]
        for salt in Set(salts) {
            let root = try PasswordRoot(
                password: HostileCloud.password("ghost"), salt: salt, rounds: RunningCloud.rounds)
            for wrap in Set(wraps) {
                #expect(throws: EncryptionError.self) {
                    _ = try AccountSecret(
                        sealed: wrap, under: root.wrappingKey, account: HostileCloud.email("ada"))
                }
            }
        }
    }
}
