import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import FileStore
import Foundation
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import OrderedStore

/// A cloud without sockets: the server as `welkin serve` runs it, on a simulated disk. It can end at any moment and start again.
final class SimulatedCloud: Sendable {
    static let container = "iCloud.com.example.simulated"

    let disk: Disk
    let trail: Trail
    /// The name of the cloud in URLs.
    let endpoint: String
    private let files: MemoryFileStore
    private let environment: ServerEnvironment
    private let assetLifetimes: AssetLifetimes
    private let running = Shared<Running?>(nil)
    /// Ends the exchanges under way when the server ends.
    private let exchanges = Shared<[Int: @Sendable () -> Void]>([:])
    private let nextExchange = Shared(0)

    private struct Running {
        let cloud: Cloud
        let application: CloudApplication
        let work: [Task<Void, Never>]
    }

    init(disk: Disk, trail: Trail, name: String, isSecure: Bool, assetLifetimes: AssetLifetimes) {
        self.disk = disk
        self.assetLifetimes = assetLifetimes
        self.trail = trail
        endpoint = "\(isSecure ? "https" : "http")://\(name).example.com"
        let now: @Sendable () -> Int64 = { Int64((Date().timeIntervalSince1970 * 1000).rounded()) }
        files = MemoryFileStore(now: now)
        environment = ServerEnvironment(secret: ServerEnvironment.systemRandom(32), now: now)
    }

    /// The running cloud; nil while it is down.
    var cloud: Cloud? { running.value?.cloud }

    /// Starts a server on the disk.
    func start() {
        guard running.value == nil else { return }
        var limits = Limits()
        limits.recordNamesQueryable = true
        limits.assetLifetimes = assetLifetimes
        let cloud = Cloud(store: disk.mount(), files: files, serverEnvironment: environment, limits: limits)
        let application = CloudApplication(
            cloud: cloud, configuration: CloudConfiguration(publicURL: endpoint),
            logger: Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }, cacheLifetime: 5000, rounds: 10)
        running.value = Running(
            cloud: cloud, application: application,
            work: [
                Task { try? await application.deliverNotifications() }, Task { await Self.runOutbox(cloud) },
                Task { await Self.buildIndexes(cloud) },
            ])
        trail.note("cloud starts")
    }

    /// Ends the server in the midst of whatever it does; what it has not committed is lost.
    func crash() {
        guard let ended = running.value else { return }
        trail.note("cloud ends")
        running.value = nil
        disk.unmount()
        for work in ended.work { work.cancel() }
        let cut = exchanges.value.sorted { $0.key < $1.key }
        exchanges.value = [:]
        for (_, cut) in cut { cut() }
    }

    private static func runOutbox(_ cloud: Cloud) async {
        while !Task.isCancelled {
            let hasMore = (try? await RunOutbox(cloud).run()) ?? false
            if !hasMore { try? await Task.sleep(for: .milliseconds(500)) }
        }
    }

    private static func buildIndexes(_ cloud: Cloud) async {
        try? await FinishIndexBuilds(cloud).run()
        while !Task.isCancelled {
            _ = try? await FinishIndexBuilds(cloud).runWaiting()
            try? await Task.sleep(for: .milliseconds(500))
        }
    }

    // MARK: Requests

    /// Hands a request to the server.
    ///
    /// - Parameters:
    ///   - connection: The connection of the request; closing it tells the server that nobody waits.
    ///   - answered: Called once: with the answer, or nil if the server ended.
    func receive(
        _ head: RequestHead, body: [UInt8], on connection: Connection,
        answered: @escaping @Sendable (Answer?) -> Void
    ) {
        guard let application = running.value?.application else { return answered(nil) }
        let id = nextExchange.value
        nextExchange.value += 1
        let isOver = Shared(false)
        let end: @Sendable (Answer?) -> Void = { answer in
            guard !isOver.value else { return }
            isOver.value = true
            self.exchanges.value[id] = nil
            answered(answer)
        }
        exchanges.value[id] = { end(nil) }
        Task.detached {
            do {
                let response = try await application.respond(
                    to: head, RequestBody(buffer: ByteBuffer(bytes: body)), on: connection.channel.value)
                let bytes = Shared<[UInt8]>([])
                try await response.body.write(BodyCollector(bytes: bytes))
                end(Answer(status: response.status.code, headers: response.headers, body: bytes.value))
            } catch {
                end(nil)
            }
        }
    }

    /// An answer of the server.
    struct Answer: Sendable {
        var status: Int
        var headers: HTTPFields
        var body: [UInt8]
    }

    /// A connection of a device.
    final class Connection: Sendable {
        fileprivate let channel = Shared(EmbeddedChannel())

        init() throws {
            channel.value.connect(to: try SocketAddress(ipAddress: "10.0.0.1", port: 4000), promise: nil)
        }

        func close() { channel.value.close(promise: nil) }
    }
}

private struct BodyCollector: ResponseBodyWriter {
    let bytes: Shared<[UInt8]>

    mutating func write(_ buffer: ByteBuffer) async throws {
        bytes.value += Array(buffer.readableBytesView)
        await Task.yield()
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
