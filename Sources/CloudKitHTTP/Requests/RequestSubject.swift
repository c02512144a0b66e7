import CloudKitLogs
import CloudKitModel

/// What a request is about and what of it failed, as its handling finds it out, for the log: names of zones, types and failed items,
/// never values of fields.
final class RequestSubject {
    /// What was found out so far.
    private(set) var content = Content()

    /// What a request is about.
    struct Content: Sendable {
        var zone: String?
        /// The owner of the zone; nil for the user.
        var zoneOwner: String?
        var recordType: String?
        /// The names of the records that the request names, for their pseudonyms.
        var recordNames: [String] = []
        /// The user, where the request's admission does not name one.
        var user: String?
        /// A Boolean value that indicates whether a fault that an operator ordered refused the request.
        var isFault = false
        /// Named values of an operator's order.
        var attributes: [String: String] = [:]
        var failures: [LogFailure] = []
    }

    /// Returns what was found out, for the report, and forgets it.
    func takeContent() -> Content { exchange(&content, with: Content()) }

    var zone: String? {
        get { content.zone }
        set { content.zone = newValue }
    }

    var recordType: String? {
        get { content.recordType }
        set { content.recordType = newValue }
    }

    var user: String? {
        get { content.user }
        set { content.user = newValue }
    }

    var isFault: Bool {
        get { content.isFault }
        set { content.isFault = newValue }
    }

    var attributes: [String: String] {
        get { content.attributes }
        _modify { yield &content.attributes }
    }

    private var failures: [LogFailure] {
        get { content.failures }
        _modify { yield &content.failures }
    }

    /// Sets the zone and the names of the records that the request names.
    func set(zone: ZoneID, recordNames: some Sequence<String>) {
        content.zone = zone.zoneName
        content.zoneOwner = zone.owner == .caller ? nil : zone.owner.recordName
        content.recordNames = Array(recordNames)
    }

    /// Adds the failure of the request as a whole.
    func add(_ failure: RequestFailure) { failures.insert(LogFailure(failure, recordType: recordType), at: 0) }

    /// Adds the failure of an item.
    func add(_ failure: RequestFailure, of item: String?, recordType: String? = nil) {
        guard failures.count < LogDetails.failuresMax else { return }
        // Items that failed because others did say nothing by themselves.
        guard failure.code != .atomicFailure || failures.isEmpty else { return }
        if failures.first?.code == RequestFailure.Code.atomicFailure.rawValue { failures = [] }
        failures.append(LogFailure(failure, item: item, recordType: recordType))
    }

    /// Adds the failures among the outcomes of operations on records.
    func add(_ outcomes: [RecordOutcome], of operations: [RecordOperation] = []) {
        for case .failed(let name, let failure) in outcomes {
            let operation = operations.first { $0.change.recordName == name }
            add(failure, of: name, recordType: operation?.change.recordType ?? recordType)
        }
    }

    /// Adds the failures among the outcomes of operations on zones.
    func add(_ outcomes: [ZoneOutcome]) {
        for case .failed(let zone, let failure) in outcomes { add(failure, of: zone.zoneName) }
    }

    /// Adds the failures among the pages of zones' changes.
    func add(_ outcomes: [ZoneChangesOutcome]) {
        for case .failed(let zone, let failure) in outcomes { add(failure, of: zone.zoneName) }
    }

    /// Adds the failures among the outcomes of operations on subscriptions.
    func add(_ outcomes: [SubscriptionOutcome]) {
        for case .failed(let id, let failure) in outcomes { add(failure, of: id) }
    }
}

extension LogFailure {
    init(_ failure: RequestFailure, item: String? = nil, recordType: String? = nil) {
        self.init(
            item: item.map { LogWord.cleaned($0) }, recordType: recordType.map { LogWord.cleaned($0) },
            code: failure.code.rawValue, reason: LogWord.cleaned(failure.reason), remedy: failure.remedy)
    }
}
