import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import Console
import FileStore
import Logging
import OrderedStore
import ServedApplication
import Synchronization
import TestEnvironment
import Testing

/// A cloud in memory with its Console, listening on a port that the system chose, and operators who look at it with browsers.
struct OperatedCloud: Sendable {
    let cloud: Cloud
    let port: Int
    let time: TestServerEnvironment
    let log: OrderLog

    static let container = ContainerID("iCloud.com.example.notes")
    static let other = ContainerID("iCloud.com.example.other")
    static let proof = [UInt8](repeating: 1, count: 32)

    /// Runs a cloud while `body` lasts.
    static func run(_ body: @Sendable @escaping (OperatedCloud) async throws -> Void) async throws {
        let time = TestServerEnvironment()
        let log = OrderLog()
        var limits = Limits()
        limits.freeBytesMin = 0
        limits.quotaBytes = 5000
        let cloud = Cloud(
            store: MemoryStore(epoch: 7), files: MemoryFileStore(now: { time.now }),
            serverEnvironment: time.serverEnvironment, limits: limits)
        let application = CloudApplication(
            cloud: cloud, configuration: CloudConfiguration(port: 0),
            logger: Logger(label: "test") { _ in log.handler },
            cacheLifetime: 0, rounds: 1, sites: [Console()])
        try await application.serve { port in
            try await body(OperatedCloud(cloud: cloud, port: port, time: time, log: log))
        }
    }

    /// Returns the browser of an operator who is signed in.
    ///
    /// - Parameter container: The only one of the operator; nil: the whole cloud.
    func browser(of container: ContainerID? = nil) async throws -> FormBrowser {
        let token = try await cloud.accountStore.operatorTokens.create(name: "tests", container: container).token
        var browser = FormBrowser(port: port)
        try await browser.signIn(token: token)
        return browser
    }

    /// Makes an account and a user of the container.
    @discardableResult
    func user(_ email: String, name: String = "", in container: ContainerID = container) async throws -> UserID {
        let accounts = cloud.accountStore.accounts
        let account = try await accounts.add(
            email: email, name: name, proof: Self.proof, derivation: accounts.newDerivation(rounds: 1))
        return try await cloud.accountStore.userNames.name(of: account.id, in: container)
    }

    /// Saves a record with a text into a default zone in development.
    func save(
        _ name: String, _ type: String = "Note", _ field: String = "title", by user: UserID,
        _ environment: CloudKitModel.Environment = .development
    ) async throws -> RequestFailure? {
        let change = RecordChange(
            recordName: name, recordType: type,
            fields: [.set(Field(name: field, type: .string, json: Array("\"text\"".utf8)))])
        let outcome = try await ModifyRecords(cloud).run(
            ModifyRecordsRequest(
                operations: [RecordOperation(.create, change)], zoneID: ZoneID(zoneName: "_defaultZone"), atomic: nil),
            in: DatabaseAddress(container: Self.container, environment: environment, scope: .private),
            by: Caller(user: user))[0]
        if case .failed(_, let failure) = outcome { return failure }
        return nil
    }

    /// Imports a schema into development.
    func `import`(_ text: String) async throws {
        try await ImportSchema(cloud).run(text, in: Self.container)
    }

    /// Returns the path of a page of the container.
    static func path(_ rest: String, _ environment: String = "development", of container: ContainerID = container)
        -> String
    {
        "/console/containers/\(container.name)/\(environment)/\(rest)"
    }
}

/// Keeps the lines of the operator's log that report orders.
final class OrderLog: Sendable {
    private let lines = Mutex<[[String: String]]>([])

    /// The orders with what was logged of each.
    var orders: [[String: String]] { lines.withLock { $0 } }

    var handler: any LogHandler { Handler(log: self) }

    private struct Handler: LogHandler {
        var log: OrderLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            guard event.message.description == "operator's order" else { return }
            let values = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues(\.description)
            log.lines.withLock { $0.append(values) }
        }
    }
}
