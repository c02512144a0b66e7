import CloudKitDevice
import CloudKitEncryption
import CloudKitServer
import Foundation
import Synchronization

@testable import CloudKit
@testable import CloudKitClient

/// A device with its own profile folder, signed in as users sign in: with a password, over HTTP.
final class SigningDevice: Sendable {
    let configuration: DeviceConfiguration
    let signIn: SignIn
    let container: CKContainer
    private let folder: String
    private let log: RequestLog

    /// Every body that the device sent while signing in and managing its account.
    var sent: [[UInt8]] { log.bodies.withLock { $0 } }

    static let rounds = 10

    /// - Parameter network: The network of the container's requests; sign-in uses an intact one.
    init(
        _ cloud: ThrowawayCloud, _ name: String = "device", over network: any Transport = HTTPTransport.shared,
        clientEnvironment: ClientClock = .system
    ) {
        folder = FileManager.default.temporaryDirectory.appending(path: "welkin-device-" + UUID().uuidString).path()
        configuration = cloud.configuration(profile: name, in: folder)
        log = RequestLog()
        signIn = Self.signIn(configuration, over: HTTPTransport.shared, log)
        container = CKContainer(configuration: configuration, transport: network, clientEnvironment: clientEnvironment)
    }

    /// Signing in over another network, as to a cloud that has moved.
    func signIn(over network: any Transport) -> SignIn { Self.signIn(configuration, over: network, log) }

    private static func signIn(
        _ configuration: DeviceConfiguration, over network: any Transport, _ log: RequestLog
    ) -> SignIn {
        SignIn(configuration: configuration, rounds: rounds) { request in
            log.bodies.withLock { $0.append(request.body) }
            guard let message = TransportRequest(request) else { throw SignInError.answerMalformed }
            let response = try await network.send(message)
            return DeviceResponse(status: response.status, body: response.body)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private final class RequestLog: Sendable {
        let bodies = Mutex<[[UInt8]]>([])
    }

    private var containerName: String { configuration.container ?? "" }

    @discardableResult
    func enter(_ password: String, as email: String = "ada@example.com") async throws -> SignIn.Outcome.Keys {
        try await signIn.signIn(
            email: email, password: password, deviceName: configuration.profile, container: containerName
        ).keys
    }

    /// Makes the account and signs in.
    ///
    /// - Returns: The recovery words.
    func signUp(_ password: String, as email: String = "ada@example.com") async throws -> [String] {
        try await signIn.signUp(email: email, name: "", password: password, container: containerName)
        guard case .made(let words) = try await enter(password, as: email) else { return [] }
        return words
    }

    func changePassword(from old: String, to new: String) async throws {
        try await signIn.changePassword(from: old, to: new, container: containerName)
    }

    @discardableResult
    func recover(_ words: String, _ password: String) async throws -> SignIn.Outcome.Keys {
        try await signIn.recover(
            email: "ada@example.com", words: words, password: password, deviceName: "", container: containerName
        ).keys
    }

    func reset(_ password: String) async throws -> [String] {
        try await signIn.resetKeychain(password: password, container: containerName)
    }

    func devices() async throws -> [ListedDevice] { try await signIn.devices(container: containerName) }
    func revoke(_ id: String) async throws { try await signIn.revoke(id, container: containerName) }
    func renewWords(_ password: String) async throws -> [String] {
        try await signIn.renewRecoveryWords(password: password, container: containerName)
    }

    /// The account's secret, as the framework gets it.
    var secret: AccountSecret { get throws { try container.connection.cloud.account.secret() } }

    var keychainFile: String {
        get throws {
            let id = try configuration.deviceProfile.credentials()?.deviceID ?? ""
            return configuration.deviceProfile.folder + "/keychain-\(id).json"
        }
    }

    /// The error with which a private database refuses; nil when it works.
    func privateError() async -> CKError? {
        do {
            _ = try await container.privateCloudDatabase.allRecordZones()
            return nil
        } catch {
            return error as? CKError
        }
    }

    /// Returns whether the public database can be read.
    func readsPublic() async -> Bool {
        do {
            _ = try await container.publicCloudDatabase.record(for: CKRecord.ID(recordName: "nothing"))
            return true
        } catch {
            return (error as? CKError)?.code == .unknownItem
        }
    }
}
