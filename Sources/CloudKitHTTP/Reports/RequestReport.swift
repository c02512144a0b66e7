import CloudKitLogs
import CloudKitModel
import CloudKitServer
import HTTPTypes

/// A request as the log and the metrics show it: without tokens, names of records, or values.
///
/// Made for every request, so it only keeps what the request has. The line and the entry are made of it by the writer of the log.
struct RequestReport: Sendable {
    let id: LogID
    let endpoint: EndpointName
    let method: HTTPRequest.Method
    /// nil for pages and files.
    let place: ContainerPath?
    /// nil for endpoints without a database in their path.
    let scope: DatabaseScope?
    let surface: Caller.ClientKind
    let labels: OperationLabels?
    let user: String?
    let deviceID: String?
    /// The id of the operator's token.
    let operatorID: String?
    let bytesIn: Int
    /// Milliseconds since 1970 at which the request was responded to.
    var time: Int64 = 0
    var status = 0
    /// The error of a request that failed as a whole.
    var code: String?
    var itemsIn = 0
    var itemsOut = 0
    var itemsFailed = 0
    var bytesOut = 0
    var duration = Duration.zero
    /// Seconds that the answer asks the client to wait.
    var retryAfter = 0
    /// What the request is about; nil where no entry of the log is wanted.
    var subject: RequestSubject.Content?
    /// The pseudonyms of records.
    var pseudonyms: RecordPseudonyms
    /// Whether the operator wants the line.
    var hasLine = true

    init(_ request: IncomingRequest, pseudonyms: RecordPseudonyms) {
        id = request.id
        endpoint = request.endpoint?.name ?? .unknown
        method = request.method
        place = request.endpoint?.place
        scope = request.endpoint?.scope
        surface = request.surface
        labels = request.labels
        let admission = request.admission
        user = admission?.user?.recordName
        deviceID = admission?.deviceID
        if case .operator(let token) = request.sender { operatorID = token.id } else { operatorID = nil }
        bytesIn = request.bytesIn
        self.pseudonyms = pseudonyms
    }

    /// Monitoring asks for health and metrics all the time, and waiting devices for notifications.
    var isFrequent: Bool { endpoint == .health || endpoint == .metrics || endpoint == .courier }

    /// The weight of the line.
    var level: ReportLine.Level {
        if status >= 500 { return .error }
        return isFrequent ? .debug : .info
    }

    private var client: String { surface == .native ? "sdk" : "web" }

    // MARK: The line

    func makeLine() -> ReportLine? {
        guard hasLine else { return nil }
        // In the order of the names.
        var values: [ReportLine.Value] = []
        values.reserveCapacity(20)
        func add(_ name: String, _ text: String?) {
            if let text { values.append(ReportLine.Value(name, text)) }
        }
        func add(_ name: String, ifSome count: Int) {
            if count > 0 { values.append(ReportLine.Value(name, String(count))) }
        }
        add("bytesIn", String(bytesIn))
        add("bytesOut", String(bytesOut))
        add("client", client)
        add("code", code)
        add("container", place?.container.name)
        add("database", scope?.word)
        add("endpoint", endpoint.rawValue)
        add("environment", place?.environment.rawValue)
        add("expectedReceive", labels?.expectedReceive)
        add("expectedSend", labels?.expectedSend)
        add("group", labels?.group)
        add("groupName", labels?.groupName)
        add("groupQuantity", labels?.groupQuantity)
        add("itemsFailed", ifSome: itemsFailed)
        add("itemsIn", ifSome: itemsIn)
        add("itemsOut", ifSome: itemsOut)
        add("method", method.rawValue)
        add("ms", Self.text(duration))
        add("operation", labels?.operation)
        add("status", String(status))
        add("uuid", id.description)
        return ReportLine(time: time, level: level, message: "request", values: values)
    }

    /// Returns a time in milliseconds, with one digit after the decimal point.
    private static func text(_ duration: Duration) -> String {
        let tenths = (duration.microseconds + 50) / 100
        return "\(tenths / 10).\(tenths % 10)"
    }

    // MARK: The entry

    func makeEntry() -> LogEntry? {
        guard let subject else { return nil }
        var entry = LogEntry(id: id, kind: kind(subject), operation: endpoint.rawValue)
        if let place {
            entry.container = place.container.name
            entry.environment = place.environment.rawValue
        }
        entry.database = scope?.word
        entry.user = user ?? subject.user
        entry.device = deviceID
        entry.zone = subject.zone.map { LogWord.cleaned($0) }
        entry.recordType = subject.recordType.map { LogWord.cleaned($0) }
        entry.client = client
        if let labels {
            entry.operationID = labels.operation.flatMap { LogID($0) }
            entry.group = labels.group.flatMap { LogID($0) }
            entry.groupName = labels.groupName
        }
        entry.status = status
        entry.code = code ?? subject.failures.first?.code
        entry.microseconds = duration.microseconds
        entry.bytesIn = bytesIn
        entry.bytesOut = bytesOut
        entry.itemsIn = itemsIn
        entry.itemsOut = itemsOut
        entry.itemsFailed = itemsFailed
        entry.retryAfter = retryAfter
        var attributes = subject.attributes
        if let operatorID { attributes["operator"] = operatorID }
        if !subject.failures.isEmpty || !attributes.isEmpty {
            entry.details = LogDetails(failures: subject.failures, attributes: attributes)
        }
        if !subject.recordNames.isEmpty, let zone = subject.zone, let owner = zoneOwner(subject) {
            entry.setRecords(pseudonyms.pseudonyms(of: subject.recordNames, zone: zone, owner: owner))
        }
        return entry
    }

    private func zoneOwner(_ subject: RequestSubject.Content) -> String? {
        scope == .public ? RecordPseudonyms.publicOwner : subject.zoneOwner ?? user
    }

    private func kind(_ subject: RequestSubject.Content) -> LogEntry.Kind {
        if subject.isFault { return .fault }
        switch endpoint {
        case .sessionsPrepare, .sessionsCreate, .sessionsDelete, .accountsCreate, .accountsPassword, .accountsDelete,
            .accountsData, .accountsAddress, .accountsDiscovery, .keychainGet, .keychainCreate, .keychainRewrap,
            .keychainReset,
            .keychainRecovery, .keychainRecover,
            .devicesList, .devicesRevoke, .devicesRename:
            return .signIn
        // The Console, whose pages no app sends.
        case .site: return .operatorAction
        default: return endpoint.isForOperators ? .operatorAction : .request
        }
    }
}

/// A report that waits for the writer of the log: an object, so that it is moved there without a copy of each of its texts.
final class WaitingReport: LogReport {
    private let report: RequestReport

    init(_ report: consuming RequestReport) { self.report = report }

    func makeEntry() -> LogEntry? { report.makeEntry() }

    func makeLine() -> ReportLine? { report.makeLine() }
}

extension EndpointName {
    fileprivate var isForOperators: Bool { rawValue.utf8.starts(with: "admin/".utf8) }
}

extension Duration {
    /// The whole nanoseconds.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// The whole microseconds.
    fileprivate var microseconds: Int { Int(nanoseconds / 1000) }
}
