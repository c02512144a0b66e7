import CloudKitDevice
import CloudKitEncryption
import CloudKitHTTP
import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import FileStore
import Foundation
import Logging
import OrderedStore
import ServiceLifecycle

@testable import CloudKit

/// A whole cloud inside the test process, on a port of the system's choosing, gone when the test ends.
struct ThrowawayCloud: Sendable {
    let port: Int
    let cloud: Cloud
    let container: String
    private let apiToken: String
    private let book: Book

    var endpoint: String { "http://127.0.0.1:\(port)" }

    /// Starts a cloud on an empty in-memory store, runs the body against it, and stops it.
    ///
    /// - Parameter files: Holds the bytes of assets; nil: in memory, too.
    static func run<Value>(
        container: String = "iCloud.com.example.conformance", files: Files? = nil,
        _ body: (ThrowawayCloud) async throws -> Value
    ) async throws -> Value {
        let store = MemoryStore(epoch: 7)
        let surroundings = Surroundings(secret: Array(repeating: 42, count: 32), now: { Clock.now })
        let cloud = Cloud(store: store, files: files ?? MemoryFileStore(now: { Clock.now }), surroundings: surroundings)
        let application = CloudApplication(
            cloud: cloud, configuration: CloudConfiguration(port: 0),
            logger: Logger(label: "conformance") { _ in SwiftLogNoOpLogHandler() }, memoryLifetime: 0, rounds: 10)
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let service = try application.service(listening: { port.yield($0) })
        let group = ServiceGroup(
            configuration: .init(services: [.init(service: service)], logger: Logger(label: "conformance")))
        let running = Task { try await group.run() }
        guard let number = await ports.first(where: { _ in true }) else { throw CancellationError() }

        let book = Book.accounts(in: store)
        let (token, _) = try await APITokens(book: book, surroundings: surroundings).create(
            container: ContainerID(container), environment: .development, name: "tests")
        let throwaway = ThrowawayCloud(
            port: number, cloud: cloud, container: container, apiToken: token, book: book)
        do {
            let value = try await body(throwaway)
            await group.triggerGracefulShutdown()
            try await running.value
            return value
        } catch {
            await group.triggerGracefulShutdown()
            try? await running.value
            throw error
        }
    }

    /// Makes an account that may sign devices in.
    func addUser(_ name: String) async throws -> User {
        let accounts = Accounts(book: book, surroundings: cloud.surroundings)
        let proof = cloud.surroundings.random(32)
        let email = "\(name)@example.com"
        _ = try await accounts.add(email: email, name: name, proof: proof, puzzle: accounts.newPuzzle(rounds: 10))
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
        at endpoint: String? = nil, timekeeping: Timekeeping = .system, keys: Keys = .own, pieceBytes: Int? = nil
    ) async throws -> CKContainer {
        CKContainer(
            identifier: container, endpoint: endpoint ?? self.endpoint,
            account: try await credentials(of: user, named: name, keys: keys), transport: transport,
            timekeeping: timekeeping, pieceBytes: pieceBytes)
    }

    /// Signs a new device of a user in and gives its credentials.
    func credentials(
        of user: User, named name: String = "device", keys: Keys = .own
    ) async throws -> SignedInDevice {
        guard let row = try await APITokens(book: book, surroundings: cloud.surroundings).find(apiToken) else {
            throw CancellationError()
        }
        let place = DeviceSignIn.Place(container: ContainerID(container), environment: .development, apiToken: row)
        let grant = try await DeviceSignIn(book: book, surroundings: cloud.surroundings).create(
            email: user.email, proof: user.proof, deviceName: name, lifetime: .device, place: place,
            address: "127.0.0.1")
        let secret: AccountSecret? =
            switch keys {
            case .own: user.secret
            case .none: nil
            case .others: AccountSecret()
            }
        return SignedInDevice(
            apiToken: apiToken, token: grant.webAuthToken, email: user.email,
            userRecordName: grant.user.recordName, secret: secret)
    }

    /// Somebody who orders trouble over HTTP.
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
        let (token, _) = try await OperatorTokens(book: book, surroundings: cloud.surroundings).create(name: "tests")
        return Operator(endpoint: "\(endpoint)/admin/1/\(container)/development", token: token)
    }

    var accounts: Accounts { Accounts(book: book, surroundings: cloud.surroundings) }

    var keychains: Keychains {
        Keychains(book: book, surroundings: cloud.surroundings, guesses: ProofGuard(roundsMin: 10))
    }

    /// How a device with a profile of its own finds this cloud.
    func configuration(profile: String, in folder: String) -> DeviceConfiguration {
        DeviceConfiguration(
            endpoint: endpoint, container: container, apiToken: apiToken, profile: profile, profilesFolder: folder)
    }

    /// Everything that is kept of accounts.
    func storedAccounts() async throws -> [[UInt8]] {
        var values: [[UInt8]] = []
        for prefix in ["account", "email", "key", "session", "user"] {
            values += try await book.entries(prefix: prefix).map(\.value)
        }
        return values
    }

    /// A device on which nobody is signed in.
    func strangersDevice() -> CKContainer { container(SignedInDevice(apiToken: apiToken, token: nil, email: "")) }

    /// Another app's API token, for this cloud's container or another one.
    func newAPIToken(container: String? = nil) async throws -> String {
        try await APITokens(book: book, surroundings: cloud.surroundings).create(
            container: ContainerID(container ?? self.container), environment: .development, name: "another"
        ).token
    }

    /// A device of another app, with its API token and a web token.
    func device(showing token: String, beside apiToken: String) -> CKContainer {
        container(SignedInDevice(apiToken: apiToken, token: token, email: "web@example.com"))
    }

    /// A device that shows this web token, whatever it is worth.
    func device(showing token: String) -> CKContainer {
        container(SignedInDevice(apiToken: apiToken, token: token, email: "nobody@example.com"))
    }

    private func container(_ account: SignedInDevice) -> CKContainer {
        CKContainer(
            identifier: container, endpoint: endpoint, account: account, transport: HTTPTransport.shared)
    }

    struct User: Sendable {
        let email: String
        let proof: [UInt8]
        let secret = AccountSecret()
    }
}

/// Milliseconds since 1970.
private enum Clock {
    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}
