import CloudKitHTTP
import CloudKitLogs
import FaultyNetwork
import Foundation
import HTTPTransfer
import Logging
import Synchronization
import Testing

@testable import welkin

/// Alerts from the telemetry to the receiver of a web hook.
@Suite(.timeLimit(.minutes(5)))
struct AlertServiceTests {
    private static let now: Int64 = 1_790_000_000_000

    private func sender(_ hosts: Set<String>) -> AlertSender {
        AlertSender(
            client: HTTPClient(), mail: nil, namedHosts: hosts,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, pause: .zero)
    }

    @Test func `a web hook is posted once when an alert begins and once when it ends`() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/welkin-alerts-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let bodies = Mutex<[AlertBody]>([])
        try await RawServer.run { stream, _ in
            while let request = try await stream.request() {
                let body = try JSONDecoder().decode(AlertBody.self, from: Data(request.body))
                let count = bodies.withLock { bodies in
                    bodies.append(body)
                    return bodies.count
                }
                // The first attempt fails and is repeated.
                let status = count == 1 ? "503 Busy" : "204 No Content"
                try await stream.send("HTTP/1.1 \(status)\r\n\(count == 1 ? "Content-Length: 0\r\n" : "")\r\n")
            }
        } body: { server in
            let file = AlertFile(folder: folder)
            var rule = AlertRule(name: "errors", measure: .errors, above: 5)
            rule.actions = ["http://127.0.0.1:\(server.port)/hook"]
            try file.write(AlertRuleList(rules: [rule]))
            let log = MemoryLogStore()
            let clock = Mutex(Self.now)
            let service = AlertService(
                file: file, log: log, monitor: StorageMonitor(), sender: sender(["127.0.0.1"]),
                now: { clock.withLock { $0 } }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await service.watch()
            var entry = LogEntry(id: LogID(milliseconds: Self.now), kind: .request, operation: "records/modify")
            entry.code = "internalError"
            var collector = TelemetryCollector()
            for _ in 0..<6 { collector.add(entry) }
            log.append([], telemetry: collector.take())
            try await service.watch()
            try await service.watch()
            clock.withLock { $0 += 600_000 }
            try await service.watch()
            try await service.watch()
        }
        let found = bodies.withLock { $0 }
        #expect(found.map(\.state) == ["began", "began", "ended"])
        #expect(found.map(\.value) == [6, 6, 0])
        #expect(found.last?.since == Self.now && found.last?.time == Self.now + 600_000)
        #expect(found.first?.text.contains("errors is 6, the bound is above 5") == true)
    }

    @Test func `web hooks go to public hosts over https, and to hosts that the operator named`() {
        let event = AlertEvent(
            rule: AlertRule(name: "a", measure: .errors, above: 1), isOver: false, value: 2, time: 0, since: 0)
        let open = sender([])
        #expect(open.request(event, "https://hooks.example/x")?.reach == .publicOnly)
        // Public addresses only: libcurl refuses the others when it connects, whatever the name resolves to.
        #expect(open.request(event, "https://127.0.0.1/x")?.reach == .publicOnly)
        #expect(open.request(event, "http://127.0.0.1:8080/admin") == nil)
        #expect(open.request(event, "http://hooks.example/x") == nil)
        #expect(sender(["hooks.lan"]).request(event, "http://hooks.lan:8080/x")?.reach == .anywhere)
        #expect(sender(["hooks.lan:1"]).request(event, "http://hooks.lan:8080/x") == nil)
    }

    @Test func `the probe of a disk writes where it can`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/welkin-probe-" + UUID().uuidString
        #expect(!StorageProbe(folder: folder).measure().isWritable)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data(repeating: 1, count: 500).write(to: URL(fileURLWithPath: folder + "/welkin.sqlite"))
        let status = StorageProbe(folder: folder).measure()
        #expect(status.isWritable && status.storeBytes == 500 && status.freeBytes > 0)
        #if os(Linux)
            #expect(try #require(status.memoryBytes) > 1 << 20)
        #endif
        #expect(!FileManager.default.fileExists(atPath: folder + "/write-probe"))
        // What stands in the way of the file stands for a disk that takes nothing.
        try FileManager.default.createDirectory(atPath: folder + "/write-probe", withIntermediateDirectories: true)
        #expect(!StorageProbe(folder: folder).measure().isWritable)
    }

    @Test func `dates of mail are those of RFC 5322`() {
        #expect(SMTPDelivery.date(1_700_000_000_000) == "Tue, 14 Nov 2023 22:13:20 +0000")
    }
}
