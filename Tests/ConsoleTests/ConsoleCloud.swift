import CloudKitAccounts
import CloudKitHTTP
import CloudKitLogs
import CloudKitModel
import CloudKitServer
import Console
import FileStore
import HTTPTransfer
import Logging
import OrderedStore
import ServedApplication
import Synchronization
import Testing

/// A cloud with the Console in memory, listening on a port that the system chose.
struct ConsoleCloud: Sendable {
    let cloud: Cloud
    let base: String
    let clock: SetClock
    let log: LogLines

    static let container = ContainerID("iCloud.com.example.app")
    static let otherContainer = ContainerID("iCloud.com.example.other")
    static let proof = [UInt8](repeating: 1, count: 32)

    var accounts: AccountStore { cloud.accountStore }

    /// Runs a cloud while `body` lasts.
    ///
    /// - Parameters:
    ///   - requests: The log that the Console shows.
    ///   - requestLog: Takes the reports of requests and orders.
    static func run(
        _ configuration: CloudConfiguration = CloudConfiguration(port: 0), store: any OrderedStore = MemoryStore(),
        clock: SetClock = SetClock(), requests: MemoryLogStore? = nil, requestLog: LogBuffer? = nil,
        _ body: @Sendable @escaping (ConsoleCloud) async throws -> Void
    ) async throws {
        let environment = ServerEnvironment(secret: [UInt8](repeating: 7, count: 32), now: { clock.now })
        var limits = Limits()
        limits.freeBytesMin = 0
        let cloud = Cloud(
            store: store, files: MemoryFileStore(bytesMax: 1 << 40, now: { clock.now }),
            serverEnvironment: environment, limits: limits)
        let log = LogLines()
        let application = CloudApplication(
            cloud: cloud, configuration: configuration, logger: Logger(label: "test") { _ in log.handler },
            cacheLifetime: 0, rounds: 1, log: requestLog,
            sites: [Console(logs: requests.map { ConsoleLogs(store: $0, alerts: NoAlerts()) })])
        try await application.serve { port in
            try await body(ConsoleCloud(cloud: cloud, base: "http://127.0.0.1:\(port)", clock: clock, log: log))
        }
    }

    /// Makes an operator's token.
    func operatorToken(container: ContainerID? = nil) async throws -> String {
        try await accounts.operatorTokens.create(name: "tests", container: container).token
    }

    /// Signs a browser in with a new token.
    func signedIn(container: ContainerID? = nil) async throws -> Browser {
        let browser = Browser(self)
        let answer = try await browser.signIn(token: try await operatorToken(container: container))
        #expect(answer.status == 303)
        return browser
    }

    /// Makes an account and returns its user in the container.
    func user(_ email: String = "ada@example.com", in container: ContainerID = container) async throws -> UserID {
        if try await accounts.accounts.account(email: email) == nil {
            _ = try await accounts.accounts.add(
                email: email, name: "", proof: Self.proof, derivation: accounts.accounts.newDerivation(rounds: 1))
        }
        let account = try #require(try await accounts.accounts.account(email: email))
        return try await accounts.userNames.name(of: account.id, in: container)
    }

    /// Saves a record as a user, or as the operator where there is none.
    func save(
        _ name: String, _ type: String = "City", _ fields: [Field] = [], zone: String? = nil, user: UserID? = nil,
        in container: ContainerID = container, _ environment: Environment = .development
    ) async throws {
        let address = DatabaseAddress(
            container: container, environment: environment, scope: user == nil ? .public : .private)
        let change = RecordChange(recordName: name, recordType: type, fields: fields.map { .set($0) })
        let outcomes = try await ModifyRecords(cloud).run(
            ModifyRecordsRequest(
                operations: [RecordOperation(.create, change)], zoneID: ZoneID(zoneName: zone ?? ZoneID.defaultZoneName)
            ),
            in: address, by: user.map { Caller(user: $0) } ?? .cloudOperator)
        if case .failed(_, let failure)? = outcomes.first { throw failure }
    }

    /// Makes a zone of a user.
    func makeZone(_ name: String, of user: UserID, in container: ContainerID = container) async throws {
        let address = DatabaseAddress(container: container, environment: .development, scope: .private)
        let outcomes = try await ModifyZones(cloud).run(
            [.create(ZoneID(zoneName: name))], in: address, by: Caller(user: user))
        if case .failed(_, let failure)? = outcomes.first { throw failure }
    }

    /// The path of a page of the container in development.
    static func path(_ rest: String, in container: ContainerID = container) -> String {
        "/console/containers/\(container.name)/development\(rest.isEmpty ? "" : "/\(rest)")"
    }
}

/// No rules for alerts.
private struct NoAlerts: AlertStore {
    func rules() -> AlertRuleList { AlertRuleList(rules: []) }
    func write(_ list: AlertRuleList) {}
    func episodes() -> AlertEpisodes { AlertEpisodes() }
}

/// A browser that keeps cookies, and follows nothing by itself.
final class Browser: Sendable {
    private let cloud: ConsoleCloud
    private let held = Mutex<String?>(nil)

    init(_ cloud: ConsoleCloud) { self.cloud = cloud }

    /// The cookie as the browser sends it; nil while there is none.
    var cookie: String? {
        get { held.withLock { $0 } }
        set { held.withLock { $0 = newValue } }
    }

    func get(_ path: String, headers: [String: String] = [:]) async throws -> PageAnswer {
        try await send("GET", path, headers, [])
    }

    /// Sends a form with the token of the session's pages, unless the fields have one.
    func post(
        _ path: String, _ fields: [(String, String)] = [], headers: [String: String] = [:], addsToken: Bool = true
    ) async throws -> PageAnswer {
        var fields = fields
        if addsToken, cookie != nil { fields.append(("form-token", try await formToken())) }
        let text = fields.map { "\($0.0.formEncoded)=\($0.1.formEncoded)" }.joined(separator: "&")
        var headers = headers
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return try await send("POST", path, headers, Array(text.utf8))
    }

    func signIn(token: String, next: String? = nil) async throws -> PageAnswer {
        try await post(
            "/console/sign-in", [("token", token)] + (next.map { [("next", $0)] } ?? []), addsToken: false)
    }

    /// The token in the forms of the session's pages.
    func formToken() async throws -> String {
        let page = try await get("/console/containers").text
        let start = try #require(page.firstRange(of: "name=\"form-token\" value=\""))
        return String(page[start.upperBound...].prefix { $0 != "\"" })
    }

    private func send(
        _ method: String, _ path: String, _ headers: [String: String], _ body: [UInt8]
    ) async throws -> PageAnswer {
        var headers = headers
        if let cookie { headers["Cookie"] = cookie }
        let answer = try await HTTPClient.shared.send(
            HTTPClient.Request(method: method, url: cloud.base + path, headers: headers, body: body))
        if let set = answer.headers["set-cookie"] {
            cookie = set.contains("Max-Age=0") ? nil : String(set.prefix { $0 != ";" })
        }
        return PageAnswer(
            status: answer.status, headers: answer.headers, text: String(decoding: answer.body, as: UTF8.self))
    }
}

/// An answer of the Console.
struct PageAnswer {
    var status: Int
    var headers: [String: String]
    var text: String

    /// The text of the page without tags, with escapes undone.
    var content: String {
        var result = ""
        var isTag = false
        for character in text {
            switch character {
            case "<": isTag = true
            case ">": isTag = false
            default: if !isTag { result.append(character) }
            }
        }
        for (escape, character) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")] {
            result = result.replacing(escape, with: character)
        }
        return result
    }

    /// The values of hidden fields with a name, in their order.
    func hidden(_ name: String) -> [String] {
        text.split(separator: "<input ").compactMap { part in
            guard part.contains("type=\"hidden\" name=\"\(name)\""), let start = part.firstRange(of: "value=\"") else {
                return nil
            }
            return String(part[start.upperBound...].prefix { $0 != "\"" })
        }
    }
}

extension String {
    /// The text in a form's body.
    var formEncoded: String {
        utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                String(Unicode.Scalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}

/// A clock that stands still until it is moved.
final class SetClock: Sendable {
    private let time = Mutex<Int64>(1_700_000_000_000)

    var now: Int64 { time.withLock { $0 } }

    func advance(_ milliseconds: Int64) { time.withLock { $0 += milliseconds } }
}

/// Keeps log lines.
final class LogLines: Sendable {
    private let captured = Mutex<[(message: String, metadata: [String: String])]>([])

    /// The orders of operators.
    var orders: [[String: String]] {
        captured.withLock { $0 }.filter { $0.message == "operator's order" }.map(\.metadata)
    }

    /// All lines as one text.
    var text: String { captured.withLock { $0 }.map { "\($0.message) \($0.metadata)" }.joined(separator: "\n") }

    var handler: any LogHandler { Handler(lines: self) }

    private struct Handler: LogHandler {
        var lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let values = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues(\.description)
            lines.captured.withLock { $0.append((event.message.description, values)) }
        }
    }
}
