import CloudKitDevice
import CloudKitEncryption
import CloudKitServer
import FaultyNetwork
import Foundation
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Accounts, devices and their keys: real devices against a running cloud.
@Suite(.timeLimit(.minutes(20))) struct AccountsTests {
    private static let password = "correct horse"
    private static let other = "battery staple"

    @Test func `B-E2E-01 the second device opens the account's keys with the password alone`() async throws {
        try await ThrowawayCloud.run { cloud in
            let (one, two) = (SigningDevice(cloud, "one"), SigningDevice(cloud, "two"))
            let words = try await one.signUp(Self.password)
            #expect(words.count == 12)
            #expect(try await two.enter(Self.password) == .opened)
            #expect(try one.secret == two.secret)
            for device in [one, two] {
                #expect(try await device.container.accountStatus() == .available)
                #expect(await device.privateError() == nil)
            }
        }
    }

    @Test func `signing up twice, with a wrong password, or where it is closed is reported clearly`() async throws {
        try await ThrowawayCloud.run { cloud in
            let one = SigningDevice(cloud)
            _ = try await one.signUp(Self.password)
            let taken = await #expect(throws: SignInError.self) {
                try await one.signUp(Self.other, as: "ADA@example.com")
            }
            #expect(
                taken?.description == "there is an account for this address already. Sign in, or use another address.")
            let wrong = await #expect(throws: SignInError.self) { try await one.enter(Self.other) }
            #expect(wrong?.description == "wrong e-mail address or password. Check both and try again.")
            let malformed = await #expect(throws: SignInError.self) { try await one.enter(Self.password, as: "ada") }
            #expect(malformed == .emailMalformed("ada"))
            // Nothing of this signed the device out.
            #expect(await one.privateError() == nil)
        }
    }

    /// A network to a cloud that answers nothing, and keeps what it is sent.
    private final class OtherCloud: Transport {
        private let sent = Mutex<[String]>([])
        var addresses: [String] { sent.withLock { $0 } }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            sent.withLock { $0.append(request.url.absoluteString) }
            throw TransportFailure.unreachable
        }
    }

    @Test func `a device sends its tokens to no other cloud than that which gave them`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = SigningDevice(cloud)
            _ = try await device.signUp(Self.password)
            var configuration = device.configuration
            configuration.endpoint = "https://other.example.com"
            let other = OtherCloud()
            let container = CKContainer(configuration: configuration, transport: other)
            let error = await expect(.badContainer) { _ = try await container.privateCloudDatabase.allRecordZones() }
            #expect(error?.localizedDescription.contains(device.configuration.endpoint) == true)
            _ = try? await container.publicCloudDatabase.record(for: CKRecord.ID(recordName: "r"))
            #expect(!other.addresses.contains { $0.contains("ckWebAuthToken") })
        }
    }

    @Test func `another password leaves devices and keys as they are`() async throws {
        try await ThrowawayCloud.run { cloud in
            let (one, two) = (SigningDevice(cloud, "one"), SigningDevice(cloud, "two"))
            _ = try await one.signUp(Self.password)
            let secret = try one.secret
            await #expect(throws: SignInError.self) { try await one.changePassword(from: "wrong", to: Self.other) }
            try await one.changePassword(from: Self.password, to: Self.other)
            #expect(await one.privateError() == nil)
            await #expect(throws: SignInError.self) { try await two.enter(Self.password) }
            #expect(try await two.enter(Self.other) == .opened)
            #expect(try two.secret == secret)
        }
    }

    @Test func `B-E2E-06 recovery words bring back the keys and set a password`() async throws {
        try await ThrowawayCloud.run { cloud in
            let (one, two) = (SigningDevice(cloud, "one"), SigningDevice(cloud, "two"))
            let words = try await one.signUp(Self.password).joined(separator: " ")
            await #expect(throws: RecoveryKeyError.self) { try await two.recover("abandon", Self.other) }
            let others = RecoveryKey().words.joined(separator: " ")
            let wrong = await #expect(throws: SignInError.self) { try await two.recover(others, Self.other) }
            #expect(wrong?.description == "wrong e-mail address or recovery words. Check both and try again.")
            #expect(try await two.recover(words.uppercased(), Self.other) == .opened)
            #expect(try one.secret == two.secret)
            #expect(await one.privateError() == nil)
            // New words invalidate the old ones.
            let renewed = try await two.renewWords(Self.other).joined(separator: " ")
            await #expect(throws: SignInError.self) { try await one.recover(words, Self.password) }
            #expect(try await one.recover(renewed, Self.password) == .opened)
        }
    }

    @Test func `B-ACC-01 B-ACC-02 a reset elsewhere makes a device temporarily unavailable until it signs in`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let (one, two) = (SigningDevice(cloud, "one"), SigningDevice(cloud, "two"))
            _ = try await one.signUp(Self.password)
            _ = try await two.enter(Self.password)
            let old = try one.secret
            #expect(try await two.reset(Self.password).count == 12)
            #expect(try two.secret != old)
            #expect(await two.privateError() == nil)
            #expect(await one.privateError()?.code == .accountTemporarilyUnavailable)
            #expect(try await one.container.accountStatus() == .temporarilyUnavailable)
            #expect(await one.readsPublic())
            #expect(try await one.enter(Self.password) == .opened)
            #expect(try one.secret == two.secret)
            #expect(try await one.container.accountStatus() == .available)
            #expect(await one.privateError() == nil)
        }
    }

    @Test func `B-ZN-12 B-E2E-07 after a reset an encrypted zone says so, and the way back works`() async throws {
        try await ThrowawayCloud.run { cloud in
            let (one, two) = (SigningDevice(cloud, "one"), SigningDevice(cloud, "two"))
            _ = try await one.signUp(Self.password)
            _ = try await two.enter(Self.password)
            let (a, b) = (one.container.privateCloudDatabase, two.container.privateCloudDatabase)
            let zone = try await a.save(CKRecordZone(zoneName: "Diary"))
            func entry(_ zone: CKRecordZone.ID) -> CKRecord {
                let record = CKRecord(recordType: "Entry", recordID: .init(recordName: "monday", zoneID: zone))
                record.encryptedValues["text"] = "secret"
                return record
            }
            _ = try await a.save(entry(zone.zoneID))
            _ = try await a.save(entry(.default))
            let read = try await b.record(for: .init(recordName: "monday", zoneID: zone.zoneID))
            #expect(read.encryptedValues["text"] == "secret")
            let before = try await b.databaseChanges(since: nil).changeToken

            _ = try await two.reset(Self.password)
            let error = await #expect(throws: CKError.self) { try await b.record(for: read.recordID) }
            #expect(error?.code == .zoneNotFound)
            #expect((error?.userInfo[CKErrorUserDidResetEncryptedDataKey] as? NSNumber)?.boolValue == true)
            #expect(try await b.databaseChanges(since: before).deletions.map(\.reason) == [.encryptedDataReset])
            // The default zone stays; values sealed in it do not open, and are an error.
            await #expect(throws: CKError.self) { try await b.record(for: .init(recordName: "monday")) }

            _ = try await b.deleteRecordZone(withID: zone.zoneID)
            _ = try await b.save(CKRecordZone(zoneName: "Diary"))
            _ = try await b.save(entry(zone.zoneID))
            _ = try await b.deleteRecord(withID: .init(recordName: "monday"))
            _ = try await b.save(entry(.default))
            try await one.enter(Self.password)
            for zone in [zone.zoneID, .default] {
                let again = try await a.record(for: .init(recordName: "monday", zoneID: zone))
                #expect(again.encryptedValues["text"] == "secret")
            }
        }
    }

    @Test func `B-ZN-12 a device whose answer to a reset is lost uses the old keys no more`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = SigningDevice(cloud, "one")
            _ = try await device.signUp(Self.password)
            let database = device.container.privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Diary")).zoneID
            let network = FaultyTransport(over: HTTPTransport.shared, clientEnvironment: .system) { request in
                request.url.path.hasSuffix("keychain/reset") ? .answerLost : nil
            }
            let signIn = SignIn(
                configuration: device.configuration, sendingBy: network, rounds: SigningDevice.rounds)
            await #expect(throws: TransportFailure.self) {
                try await signIn.resetKeychain(password: Self.password, container: cloud.container)
            }
            let entry = CKRecord(recordType: "Entry", recordID: .init(recordName: "monday", zoneID: zone))
            entry.encryptedValues["text"] = "secret"
            let refusal = await #expect(throws: CKError.self) { try await database.save(entry) }
            #expect(refusal?.code == .accountTemporarilyUnavailable)
            #expect(try await device.enter(Self.password) == .opened)
            _ = try await database.save(entry)
            #expect(try await database.record(for: entry.recordID).encryptedValues["text"] == "secret")
        }
    }

    @Test
    func `B-ZN-12 after a reset the plain fields of the default zone can be read, and saved in a record made again`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let device = SigningDevice(cloud, "one")
            _ = try await device.signUp(Self.password)
            let database = device.container.privateCloudDatabase
            let entry = CKRecord(recordType: "Entry", recordID: .init(recordName: "monday"))
            entry["title"] = "Monday"
            entry.encryptedValues["text"] = "secret"
            _ = try await database.save(entry)
            _ = try await device.reset(Self.password)
            let whole = await #expect(throws: CKError.self) { try await database.record(for: entry.recordID) }
            #expect(whole?.code == .internalError)
            let found = try await database.records(for: [entry.recordID], desiredKeys: ["title"])
            let plain = try #require(try found[entry.recordID]?.get())
            #expect(plain["title"] == "Monday")
            let query = CKQuery(recordType: "Entry", predicate: NSPredicate(format: "title == %@", "Monday"))
            let results = try await database.records(matching: query, desiredKeys: ["title"]).matchResults
            #expect(try results.map { try $0.1.get()["title"] } == ["Monday"])

            // One record cannot hold values of the lost keys and of the new ones.
            plain["title"] = "Tuesday"
            plain.encryptedValues["text"] = "new secret"
            let refusal = await #expect(throws: CKError.self) { try await database.save(plain) }
            for error in [whole, refusal] {
                #expect(error?.localizedDescription.contains("delete the record and save it again") == true)
            }
            _ = try await database.deleteRecord(withID: entry.recordID)
            let again = CKRecord(recordType: "Entry", recordID: entry.recordID)
            again["title"] = plain["title"]
            again.encryptedValues["text"] = "new secret"
            _ = try await database.save(again)
            #expect(try await database.record(for: entry.recordID).encryptedValues["text"] == "new secret")
        }
    }

    @Test func `B-ACC-02 a revoked device has to sign in again`() async throws {
        try await ThrowawayCloud.run { cloud in
            let (one, two) = (SigningDevice(cloud, "one"), SigningDevice(cloud, "two"))
            _ = try await one.signUp(Self.password)
            _ = try await two.enter(Self.password)
            #expect(await two.privateError() == nil)
            let listed = try await one.devices()
            #expect(listed.map(\.name) == ["one", "two"])
            let id = try #require(listed.first { !$0.isCaller }?.deviceID)
            try await one.revoke(id)
            #expect(await two.privateError()?.code == .accountTemporarilyUnavailable)
            #expect(try await two.container.accountStatus() == .temporarilyUnavailable)
            #expect(await two.readsPublic())
            #expect(try await two.enter(Self.password) == .opened)
            #expect(await two.privateError() == nil)
            #expect(try await one.devices().count == 2)
        }
    }

    @Test func `B-ACC-01 B-ACC-02 a disabled account is restricted until the operator enables it`() async throws {
        try await ThrowawayCloud.run { cloud in
            let one = SigningDevice(cloud)
            _ = try await one.signUp(Self.password)
            try await cloud.accounts.setDisabled(true, email: "ada@example.com")
            #expect(await one.readsPublic())
            #expect(try await one.container.accountStatus() == .restricted)
            #expect(await one.privateError()?.code == .notAuthenticated)
            try await cloud.accounts.setDisabled(false, email: "ada@example.com")
            try await one.container.connection.cloud.account.verify()
            #expect(try await one.container.accountStatus() == .available)
            #expect(await one.privateError() == nil)
        }
    }

    @Test func `B-ACC-01 a tampered keychain is an error that says so, is kept, and ends with a sign-in`() async throws
    {
        try await ThrowawayCloud.run { cloud in
            let one = SigningDevice(cloud)
            _ = try await one.signUp(Self.password)
            let path = try one.keychainFile
            let secret = try one.secret
            let damaged = try String(contentsOfFile: path, encoding: .utf8).replacing(
                "\"generation\" : 1", with: "\"generation\" : 2")
            try damaged.write(toFile: path, atomically: true, encoding: .utf8)
            #expect(try await one.container.accountStatus() == .couldNotDetermine)
            let error = await one.privateError()
            #expect(error?.code == .notAuthenticated)
            #expect(error?.localizedDescription.contains("keychain is damaged") == true)
            #expect(await one.readsPublic())
            #expect(try String(contentsOfFile: path, encoding: .utf8) == damaged)
            #expect(try await one.enter(Self.password) == .opened)
            #expect(try one.secret == secret)
            #expect(try await one.container.accountStatus() == .available)
        }
    }

    @Test func `after the operator set a password, a device that has the keys makes it whole`() async throws {
        try await ThrowawayCloud.run { cloud in
            let (one, two) = (SigningDevice(cloud, "one"), SigningDevice(cloud, "two"))
            _ = try await one.signUp(Self.password)
            let secret = try one.secret
            try await cloud.setPassword(Self.other, of: "ada@example.com")
            // A device without the keys is signed in and cannot open anything.
            #expect(try await two.enter(Self.other) == .locked)
            #expect(try await two.container.accountStatus() == .temporarilyUnavailable)
            let error = await two.privateError()
            #expect(error?.code == .accountTemporarilyUnavailable)
            #expect(error?.localizedDescription.contains("welkin recover") == true)
            // One that has them wraps them with this password.
            #expect(try await one.enter(Self.other) == .opened)
            #expect(try one.secret == secret)
            #expect(try await two.enter(Self.other) == .opened)
            #expect(try two.secret == secret)
        }
    }

    @Test func `after the operator took the keychain away, the next sign-in makes another`() async throws {
        try await ThrowawayCloud.run { cloud in
            let one = SigningDevice(cloud)
            _ = try await one.signUp(Self.password)
            let old = try one.secret
            try await cloud.keychains.reset(email: "ada@example.com")
            try await FinishKeyResets(cloud.cloud).run()
            #expect(await one.privateError()?.code == .accountTemporarilyUnavailable)
            guard case .made(let words) = try await one.enter(Self.password) else {
                Issue.record("the keychain was not made")
                return
            }
            #expect(words.count == 12)
            #expect(try one.secret != old)
            #expect(await one.privateError() == nil)
        }
    }

    @Test func `another user on the same profile has other keys, and a sign-out leaves none`() async throws {
        try await ThrowawayCloud.run { cloud in
            let one = SigningDevice(cloud)
            _ = try await one.signUp(Self.password)
            let ada = try one.secret
            _ = try await one.signUp(Self.other, as: "bob@example.com")
            #expect(try one.secret != ada)
            try await one.signIn.signOut(container: cloud.container)
            #expect(try await one.container.accountStatus() == .noAccount)
            #expect(throws: SignInError.notSignedIn) { try one.secret }
            #expect(await one.privateError()?.code == .notAuthenticated)
            #expect(await one.readsPublic())
        }
    }

    @Test func `a cloud that asks for a cheap proof does not get one`() async throws {
        try await ThrowawayCloud.run { cloud in
            let one = SigningDevice(cloud)
            let derivation = cloud.accounts.newDerivation(rounds: 1)
            let proof = try PasswordProof(password: Self.password, salt: derivation.salt, rounds: 1)
            _ = try await cloud.accounts.add(
                email: "ada@example.com", name: "", proof: proof.bytes, derivation: derivation)
            await #expect(throws: SignInError.passwordTooCheap(rounds: 1)) { try await one.enter(Self.password) }
            #expect(one.sent.count == 1)
        }
    }

    @Test func `B-TM-01 neither password, words nor keys are sent or stored`() async throws {
        try await ThrowawayCloud.run { cloud in
            let (one, two) = (SigningDevice(cloud, "one"), SigningDevice(cloud, "two"))
            let words = try await one.signUp(Self.password)
            var secrets = [try one.secret.bytes]
            _ = try await two.enter(Self.password)
            try await one.changePassword(from: Self.password, to: Self.other)
            let renewed = try await one.renewWords(Self.other)
            _ = try await two.recover(renewed.joined(separator: " "), Self.password)
            let last = try await two.reset(Self.password)
            secrets.append(try two.secret.bytes)
            var forbidden = [Self.password, Self.other].map { Array($0.utf8) }
            forbidden += [words, renewed, last].flatMap { list in
                [Array(list.joined(separator: " ").utf8), Array("\(list[0])\",\"\(list[1])".utf8)]
            }
            for secret in secrets {
                let data = Data(secret)
                forbidden += [
                    secret, Array(data.base64EncodedString().utf8),
                    Array(data.map { "\($0)" }.joined(separator: ",").utf8),
                ]
            }
            let seen = one.sent + two.sent + (try await cloud.storedAccounts())
            #expect(seen.count > 20)
            for bytes in seen {
                for text in forbidden { #expect(bytes.firstRange(of: text) == nil) }
            }
        }
    }
}
