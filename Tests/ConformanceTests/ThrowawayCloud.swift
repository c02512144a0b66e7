import CloudKitAccounts
import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import CloudKitServer
import CloudKitTesting
import Crypto
import FileStore
import Foundation
import OrderedStore
import PostgresServer

@testable import CloudKit
@testable import CloudKitClient

/// A whole cloud inside the test process, on a port of the system's choosing, gone when the test ends.
struct ThrowawayCloud: Sendable {
    private let running: RunningCloud
    let container: String
    private let apiToken: String
    private let kind: CloudUnderTest

    var cloud: Cloud { running.cloud }
    var endpoint: String { running.endpoint }
    var port: Int { running.storage.address.firstPort ?? 0 }
    var accountStore: AccountStore { running.accountStore }

    init(running: RunningCloud, container: String, apiToken: String, kind: CloudUnderTest) {
        self.running = running
        self.container = container
        self.apiToken = apiToken
        self.kind = kind
    }

    /// Starts a cloud on an empty store, in memory unless `StoreUnderTest` says otherwise, runs the body against it, and stops it.
    ///
    /// - Parameters:
    ///   - files: Holds the bytes of assets; nil: in memory, too.
    ///   - kind: The kind of the cloud, and of its devices.
    static func run<Value>(
        container: String = "iCloud.com.example.conformance", files: (any FileStore)? = nil,
        on kind: CloudUnderTest = .chosen, _ body: (ThrowawayCloud) async throws -> Value
    ) async throws -> Value {
        let now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
        let store = try await StoreUnderTest.chosen()
        let running = try await RunningCloud.start(
            CloudStorage(now: now, store: store, files: files), isStrict: kind == .webServices)
        do {
            let throwaway = ThrowawayCloud(
                running: running, container: container, apiToken: try await running.makeAPIToken(of: container),
                kind: kind)
            let value = try await body(throwaway)
            await running.stop()
            await store?.close()
            return value
        } catch {
            await running.stop()
            await store?.close()
            throw error
        }
    }

    /// Makes an account that may sign devices in.
    func addUser(_ name: String) async throws -> User {
        let accounts = accountStore.accounts
        let proof = cloud.serverEnvironment.random(32)
        let email = "\(name)@example.com"
        _ = try await accounts.add(
            email: email, name: name, proof: proof, derivation: accounts.newDerivation(rounds: 10))
        return User(email: email, proof: proof)
    }

    /// Which keys a device has.
    enum Keys {
        case own, none, others
    }

    /// Signs a new device of a user in and gives its container.
    ///
    /// - Parameter endpoint: Where the device finds the cloud; nil: where it is.
    func device(
        of user: User, named name: String = "device", over transport: any Transport = HTTPTransport.shared,
        at endpoint: String? = nil, clientEnvironment: ClientClock = .system, keys: Keys = .own, pieceBytes: Int? = nil
    ) async throws -> CKContainer {
        CKContainer(
            identifier: container, endpoint: endpoint ?? self.endpoint,
            account: try await credentials(of: user, named: name, keys: kind == .native ? keys : .none),
            transport: transport, surface: kind.surface, clientEnvironment: clientEnvironment, pieceBytes: pieceBytes)
    }

    /// Signs a new device of a user in and gives its credentials.
    func credentials(
        of user: User, named name: String = "device", keys: Keys = .own
    ) async throws -> SignedInDevice {
        guard let row = try await accountStore.apiTokens.find(apiToken) else {
            throw CancellationError()
        }
        let place = DeviceSignIn.Place(container: ContainerID(container), environment: .development, apiToken: row)
        let grant = try await DeviceSignIn(store: accountStore).create(
            email: user.email, proof: user.proof, deviceName: name, lifetime: .device, place: place,
            address: "127.0.0.1")
        let secret: AccountSecret? =
            switch keys {
            case .own: user.secret
            case .none: nil
            case .others: AccountSecret()
            }
        if keys == .own, grant.keychain == nil, let deviceSecret = grant.deviceSecret {
            // Its wrapped forms are never opened: the devices hold the secret itself.
            _ = try await accountStore.keychains(ProofLimiter(roundsMin: 1)).create(
                KeychainUpload(
                    passwordWrap: [1], recovery: RecoveryUpload(wrap: [1], proof: user.proof),
                    identity: user.secret.identity().publicIdentity.bytes),
                by: DeviceKey(id: grant.deviceID, secret: deviceSecret))
        }
        return SignedInDevice(
            apiToken: apiToken, token: grant.webAuthToken, email: user.email, deviceID: grant.deviceID,
            userRecordName: grant.user.recordName, secret: secret)
    }

    /// A client that orders faults over HTTP.
    struct Operator: Sendable {
        let endpoint: String
        let token: String

        /// - Parameter body: JSON.
        func order(_ action: String, _ body: String) async throws {
            guard let url = URL(string: "\(endpoint)/\(action)") else { throw OrderRefused(answer: "no address") }
            let answer = try await HTTPTransport.shared.send(
                TransportRequest(
                    method: .post, url: url,
                    headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/json"],
                    body: Array(body.utf8)))
            guard answer.status == 200 else {
                throw OrderRefused(answer: String(decoding: answer.body, as: UTF8.self))
            }
        }

        struct OrderRefused: Error {
            var answer: String
        }
    }

    func makeOperator() async throws -> Operator {
        let (token, _) = try await accountStore.operatorTokens.create(name: "tests")
        return Operator(endpoint: "\(endpoint)/admin/1/\(container)/development", token: token)
    }

    var accounts: Accounts { accountStore.accounts }

    /// Sets a user's password as the operator, which opens no keys.
    func setPassword(_ password: String, of email: String) async throws {
        let derivation = accounts.newDerivation(rounds: SigningDevice.rounds)
        let proof = try PasswordProof(password: password, salt: derivation.salt, rounds: derivation.rounds)
        try await accounts.setPassword(proof: proof.bytes, derivation: derivation, email: email)
    }

    var keychains: Keychains {
        accountStore.keychains(ProofLimiter(roundsMin: 10))
    }

    /// Returns the configuration of a device with a profile for this cloud.
    func configuration(profile: String, in folder: String) -> DeviceConfiguration {
        DeviceConfiguration(
            endpoint: endpoint, container: container, apiToken: apiToken, profile: profile, profilesFolder: folder)
    }

    /// Returns a process that signs its requests with a new server-to-server key.
    func serverProcess() async throws -> CKContainer {
        let key = P256.Signing.PrivateKey()
        let id = try await accountStore.serverKeys.add(
            publicKey: key.publicKey.pemRepresentation, container: ContainerID(container), environment: .development,
            name: "tests"
        ).id
        let signer = try ServerKeySigner(keyID: id, pem: key.pemRepresentation)
        return CKContainer(
            identifier: container, endpoint: endpoint,
            account: SignedInDevice(apiToken: "", token: "signs", email: ""), transport: HTTPTransport.shared,
            surface: .webServices(WebServicesAccess(signer: signer)))
    }

    /// Everything that is kept of accounts.
    func storedAccounts() async throws -> [[UInt8]] {
        var values: [[UInt8]] = []
        let store = running.storage.store
        for prefix in ["account", "email", "key", "session", "user"] {
            values += try await store.read(accountStore.partition) { transaction in
                try await transaction.scan(KeyRange(prefix: Array(prefix.utf8)), limit: .max).map(\.value)
            }
        }
        return values
    }

    /// Returns a device without a signed-in user.
    func strangersDevice() -> CKContainer { container(SignedInDevice(apiToken: apiToken, token: nil, email: "")) }

    /// Another app's API token, for this cloud's container or another one.
    /// Revokes the API token that the cloud's devices are configured with.
    func revokeAPIToken() async throws { _ = try await accountStore.apiTokens.revoke(apiToken) }

    func newAPIToken(container: String? = nil) async throws -> String {
        try await accountStore.apiTokens.create(
            container: ContainerID(container ?? self.container), environment: .development, name: "another"
        ).token
    }

    /// A device of another app, with its API token and a web token.
    func device(showing token: String, beside apiToken: String) -> CKContainer {
        container(SignedInDevice(apiToken: apiToken, token: token, email: "web@example.com"))
    }

    /// Returns a device that sends this web token, valid or not.
    func device(showing token: String) -> CKContainer {
        container(SignedInDevice(apiToken: apiToken, token: token, email: "nobody@example.com"))
    }

    private func container(_ account: SignedInDevice) -> CKContainer {
        CKContainer(
            identifier: container, endpoint: endpoint, account: account, transport: HTTPTransport.shared,
            surface: kind.surface)
    }

    struct User: Sendable {
        let email: String
        let proof: [UInt8]
        let secret = AccountSecret()
    }
}
