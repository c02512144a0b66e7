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

/// A cloud without sockets: one server or several, as `welkin serve` runs them, on one simulated disk. Each can end at any moment and start
/// again.
final class SimulatedCloud: Sendable {
    static let container = "iCloud.com.example.simulated"
    /// The container of another app of the same accounts.
    static let diaryContainer = "iCloud.com.example.diary"

    let disk: Disk
    let trail: Trail
    /// The name of the cloud in URLs.
    let endpoint: String
    private let files: MemoryFileStore
    private let secret = ServerEnvironment.systemRandom(32)
    /// The time of the first server, in milliseconds since 1970.
    private let now: @Sendable () -> Int64
    /// The milliseconds by which the clock of each further server is ahead of the one before it.
    private let clockDifference: Int64
    private let limits: Limits
    /// The number of servers.
    private let count: Int
    /// Chooses the servers of requests, where there are several.
    private let chance: Chance
    private let running = Shared<[Int: Running]>([:])
    /// The time of the state to which the cloud was restored, as servers know it, 0 if they do not; nil: it never was.
    private let restoredTo = Shared<Int64?>(nil)
    /// Ends the exchanges under way when their server ends.
    private let exchanges = Shared<[Int: (server: Int, cut: @Sendable () -> Void)]>([:])
    private let nextExchange = Shared(0)

    /// A server that runs.
    private struct Running {
        let cloud: Cloud
        let application: CloudApplication
        let work: [Task<Void, Never>]
        /// The disk as the server sees it.
        let disk: MountedDisk
    }

    /// - Parameters:
    ///   - servers: The number of servers.
    ///   - clockDifference: The milliseconds by which the clock of each further server is ahead of the one before it.
    ///   - chance: Chooses the servers of requests.
    init(
        disk: Disk, trail: Trail, name: String, isSecure: Bool, limits: Limits, servers: Int, clockDifference: Int64,
        _ chance: Chance
    ) {
        self.disk = disk
        self.limits = limits
        count = servers
        self.clockDifference = clockDifference
        self.chance = chance
        self.trail = trail
        endpoint = "\(isSecure ? "https" : "http")://\(name).example.com"
        now = { Int64((Date().timeIntervalSince1970 * 1000).rounded()) }
        files = MemoryFileStore(now: now)
    }

    /// A running server; nil while there is none.
    var cloud: Cloud? { (0..<count).lazy.compactMap { self.running.value[$0] }.first?.cloud }

    /// Starts the servers that do not run.
    func start() {
        for server in 0..<count where running.value[server] == nil { start(server) }
    }

    private func start(_ server: Int) {
        let disk = disk.mount()
        let (now, ahead) = (now, clockDifference * Int64(server))
        let cloud = Cloud(
            store: disk, files: files, serverEnvironment: ServerEnvironment(secret: secret, now: { now() + ahead }),
            limits: limits, isShared: count > 1)
        if let restoredTo = restoredTo.value { cloud.storeHistory.note(restoredTo: restoredTo) }
        let application = CloudApplication(
            cloud: cloud, configuration: CloudConfiguration(publicURL: endpoint),
            logger: Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }, cacheLifetime: 5000, rounds: 10)
        running.value[server] = Running(
            cloud: cloud, application: application,
            work: [
                Task { try? await application.deliverNotifications() }, Task { await Self.runOutbox(cloud) },
                Task { await Self.buildIndexes(cloud) }, Task { await cloud.nodes.run() },
            ], disk: disk)
        trail.note(count > 1 ? "server \(server) starts" : "cloud starts")
    }

    /// Ends a server, or the only one, in the midst of whatever it does; what it has not committed is lost.
    func crash() {
        guard let (server, ended) = chance.one(of: running.value.sorted { $0.key < $1.key }) else { return }
        end(server, ended)
    }

    /// Ends all servers.
    func shutDown() {
        for (server, ended) in running.value.sorted(by: { $0.key < $1.key }) { end(server, ended) }
    }

    private func end(_ server: Int, _ ended: Running) {
        trail.note(count > 1 ? "server \(server) ends" : "cloud ends")
        running.value[server] = nil
        disk.unmount(ended.disk)
        for work in ended.work { work.cancel() }
        let cut = exchanges.value.filter { $0.value.server == server }.sorted { $0.key < $1.key }
        for (id, _) in cut { exchanges.value[id] = nil }
        for (_, exchange) in cut { exchange.cut() }
    }

    /// What a backup has.
    struct Backup: Sendable {
        fileprivate let rows: MemoryStore.Contents
        fileprivate let files: MemoryFileStore.Contents
        /// Milliseconds since 1970.
        let time: Int64
    }

    /// Takes a backup while the servers run.
    func backUp() -> Backup { Backup(rows: disk.store.contents, files: files.contents, time: now()) }

    /// Ends the servers and puts a backup in the place of what they had, as `welkin restore` does.
    ///
    /// - Parameter isTimeKnown: Whether servers know the time of the backup.
    func restore(_ backup: Backup, isTimeKnown: Bool) async throws {
        let time = isTimeKnown ? backup.time : 0
        restoredTo.value = time
        shutDown()
        await disk.store.restore(backup.rows)
        files.restore(backup.files)
        let cloud = Cloud(
            store: disk.store, files: files, serverEnvironment: ServerEnvironment(secret: secret, now: now),
            limits: Limits(), isShared: false)
        try await ContinueFromEarlierState(cloud).run(
            restoredTo: time, partitions: backup.rows.partitionNames)
        try await disk.store.renewEpoch(from: disk.store.epoch)
    }

    private static func runOutbox(_ cloud: Cloud) async {
        await cloud.nodes.run(.outbox) {
            while !Task.isCancelled {
                let hasMore = (try? await RunOutbox(cloud).run()) ?? false
                if !hasMore { try? await Task.sleep(for: .milliseconds(500)) }
            }
        }
    }

    private static func buildIndexes(_ cloud: Cloud) async {
        try? await FinishIndexBuilds(cloud).run()
        while !Task.isCancelled {
            _ = try? await FinishIndexBuilds(cloud).runWaiting()
            if cloud.nodes.isShared { _ = try? await FinishIndexBuilds(cloud).runAbandoned() }
            try? await Task.sleep(for: .milliseconds(500))
        }
    }

    // MARK: Requests

    /// Hands a request to a server.
    ///
    /// - Parameters:
    ///   - connection: The connection of the request; closing it tells the server that nobody waits.
    ///   - answered: Called once: with the answer, or nil if the server ended.
    func receive(
        _ head: RequestHead, body: [UInt8], on connection: Connection,
        answered: @escaping @Sendable (Answer?) -> Void
    ) {
        guard let (server, running) = chance.one(of: running.value.sorted { $0.key < $1.key }) else {
            return answered(nil)
        }
        let application = running.application
        let id = nextExchange.value
        nextExchange.value += 1
        let isOver = Shared(false)
        let end: @Sendable (Answer?) -> Void = { answer in
            guard !isOver.value else { return }
            isOver.value = true
            self.exchanges.value[id] = nil
            answered(answer)
        }
        exchanges.value[id] = (server, { end(nil) })
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
