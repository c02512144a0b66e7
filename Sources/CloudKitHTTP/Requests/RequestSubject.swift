import CloudKitLogs
import CloudKitModel

/// What a request is about and what of it failed, as its handling finds it out, for the log: names of zones, types and failed items,
/// never values of fields.
final class RequestSubject {
    var zone: String?
    var recordType: String?
    /// The user, where the request's admission does not name one.
    var user: String?
    /// A Boolean value that indicates whether a fault that an operator ordered refused the request.
    var isFault = false
    /// Named values of an operator's order.
    var attributes: [String: String] = [:]
    private(set) var failures: [LogFailure] = []

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
