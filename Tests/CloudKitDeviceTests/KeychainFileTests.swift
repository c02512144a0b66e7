import CloudKitDevice
import CloudKitEncryption
import Foundation
import Testing

/// The keychain in a profile's folder.
@Suite(.timeLimit(.minutes(20))) struct KeychainFileTests {
    private static let device = AccountState.Device(email: "ada@example.com", id: "d")
    let folder: TestFolder
    private let secret = AccountSecret()

    init() throws { folder = try TestFolder() }

    private func profile() -> DeviceProfile { DeviceProfile(name: "one", in: folder.path) }

    private func credentials(_ device: String = "d") -> DeviceCredentials {
        DeviceCredentials(endpoint: "http://localhost", email: "ada@example.com", deviceID: device, deviceSecret: "s")
    }

    private var keychain: DeviceKeychain {
        DeviceKeychain(account: "ada@example.com", generation: 3, secret: secret)
    }

    private var text: String {
        get throws { try String(contentsOfFile: folder.path + "/one/keychain-d.json", encoding: .utf8) }
    }

    @Test func `the keychain is there for every process, readable by its owner only`() throws {
        try profile().store(credentials(), keychain: keychain)
        #expect(try profile().keychain() == keychain)
        #expect(try folder.mode("one/keychain-d.json") == 0o600)
    }

    @Test func `B-TM-12 a changed keychain is damage, for any changed byte, and is left as it is`() throws {
        try profile().store(credentials(), keychain: keychain)
        let good = try text
        for index in good.indices where good[index].isLetter || good[index].isNumber {
            var bad = good
            bad.replaceSubrange(index...index, with: good[index] == "7" ? "8" : "7")
            try folder.write(bad, to: "one/keychain-d.json")
            let profile = profile()
            #expect(profile.accountState == .couldNotDetermine)
            #expect(throws: DeviceProfileError.self) { try profile.keychain() }
        }
        try folder.write(good.dropLast(20).description, to: "one/keychain-d.json")
        let error = #expect(throws: DeviceProfileError.self) { try profile().keychain() }
        #expect(error?.description.contains("keychain is damaged") == true)
        #expect(error?.description.contains("welkin login") == true)
        #expect(try text == good.dropLast(20).description)
    }

    @Test func `a keychain of a later version is distinguished from damage`() throws {
        try profile().store(credentials(), keychain: keychain)
        try folder.write(try text.replacing("\"version\" : 1", with: "\"version\" : 2"), to: "one/keychain-d.json")
        let error = #expect(throws: DeviceProfileError.self) { try profile().keychain() }
        #expect(error?.description.contains("version 2") == true)
    }

    @Test func `B-ACC-01 a device without its keychain, or with an account problem, is not available`() throws {
        let profile = profile()
        try profile.store(credentials(), keychain: nil)
        #expect(
            profile.accountState
                == .temporarilyUnavailable(.keysLocked, Self.device))
        try profile.store(credentials(), keychain: keychain)
        #expect(
            profile.accountState
                == .available(Self.device, keysGeneration: 3))
        try profile.mark(.keysReset, of: "d")
        #expect(
            profile.accountState
                == .temporarilyUnavailable(.keysReset, Self.device))
        try profile.mark(.disabled, of: "d")
        #expect(self.profile().accountState == .restricted(Self.device))
        try profile.clear(.sessionEnded, of: "d")
        #expect(profile.accountState == .restricted(Self.device))
        try profile.clear(.disabled, of: "d")
        #expect(
            profile.accountState
                == .available(Self.device, keysGeneration: 3))
    }

    @Test func `B-ACC-01 a keychain that came later counts, whatever the credentials say`() throws {
        let profile = profile()
        var credentials = credentials()
        credentials.trouble = .keysLocked
        try profile.store(credentials, keychain: nil)
        #expect(
            profile.accountState
                == .temporarilyUnavailable(.keysLocked, Self.device))
        // As a failure of the power leaves it: the keychain is there, the change of the credentials is lost.
        try profile.store(credentials, keychain: keychain)
        #expect(
            profile.accountState
                == .available(Self.device, keysGeneration: 3))
    }

    @Test func `the problem of a removed device does not affect the one that came after`() throws {
        try profile().store(credentials("e"), keychain: keychain)
        try profile().mark(.sessionEnded, of: "d")
        #expect(
            profile().accountState
                == .available(AccountState.Device(email: "ada@example.com", id: "e"), keysGeneration: 3))
    }

    @Test func `keys of a device that was replaced go when others take their place, and all go with a sign-out`()
        throws
    {
        let profile = profile()
        func files() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder.path + "/one").filter {
                $0.hasPrefix("keychain")
            }.sorted()
        }
        try profile.store(credentials("d"), keychain: keychain)
        try profile.store(credentials("e"), keychain: nil)
        #expect(try files() == ["keychain-d.json"])
        #expect(try profile.keychain() == nil)
        try profile.store(credentials("f"), keychain: keychain)
        #expect(try files() == ["keychain-f.json"])
        try profile.signOut()
        #expect(try files().isEmpty)
    }
}
