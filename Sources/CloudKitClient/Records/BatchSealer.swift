import CloudKitModel

/// The saves of one zone while they are sealed and sent; where the keys of the zone or of a record turn out to have
/// changed, they are sealed and sent again.
struct BatchSealer {
    /// The outcome of one operation: the cloud's answer, or the failure that kept it from being sent.
    typealias Outcome = Result<RecordOutcome, CallFailure>

    private(set) var batch: ModifyPlan.Batch
    /// Operations that were not settled yet.
    private var pending: [Int]
    private var settled: [Int: Outcome] = [:]
    /// The latest answers to those.
    private var last: [Int: RecordOutcome] = [:]
    /// Records that had to be looked at since the last answers, those that there are.
    private var current: [Int: OpenedRecord] = [:]
    /// All that were looked at since then.
    private var looked: Set<Int> = []
    /// The names of records that have to be looked at before anything more is sent.
    private(set) var wanted: [String] = []

    init(_ batch: ModifyPlan.Batch) {
        self.batch = batch
        pending = Array(batch.request.operations.indices)
    }

    /// A Boolean value that indicates whether some operations are settled, so that a later failure does not apply to
    /// all.
    var hasSettled: Bool { !settled.isEmpty }

    /// A Boolean value that indicates whether an operation was refused because of the key that it was sealed under.
    var wantsNewKeys: Bool {
        last.values.contains { if case .failed(_, let failure) = $0 { failure.code == .staleKeyEpoch } else { false } }
    }

    /// The outcomes of the operations, in their order.
    var outcomes: [Outcome] { batch.request.operations.indices.compactMap { settled[$0] } }

    /// A Boolean value that indicates whether the operations take effect together or not at all.
    private var isAtomic: Bool { batch.request.atomic ?? true && !batch.request.zoneID.isDefaultZone }

    /// Returns the next request; nil: there is none, or the `wanted` records have to be fetched first.
    ///
    /// An operation that cannot be sealed is settled with that failure, and in an atomic batch it keeps the others from
    /// being sent (B-BAT-02).
    mutating func request(_ known: ZoneKeys) -> ModifyRecordsRequest? {
        var request = batch.request
        request.operations = []
        var keys = known
        var ready: [Int: RecordOperation] = [:]
        var failures: [Int: CallFailure] = [:]
        wanted = []
        // A parent's key is there before its children are wrapped under it.
        for index in batch.parentsFirst(pending) {
            do throws(CallFailure) {
                ready[index] = try operation(index, &keys)
            } catch {
                failures[index] = error
                if let name = keptRecordName(index) { wanted.append(name) }
            }
        }
        guard wanted.isEmpty else { return nil }
        for (index, failure) in failures { settled[index] = .failure(failure) }
        var sealed = pending.filter { ready[$0] != nil }
        request.operations = sealed.compactMap { ready[$0] }
        if isAtomic, sealed.count < pending.count {
            for index in sealed { settled[index] = .success(unsentOutcome(batch.request.operations[index])) }
            sealed = []
        }
        pending = sealed
        return sealed.isEmpty ? nil : request
    }

    private func operation(_ index: Int, _ keys: inout ZoneKeys) throws(CallFailure) -> RecordOperation {
        let operation = batch.request.operations[index]
        guard var secrets = batch.secrets[index], let name = operation.change.recordName else { return operation }
        if looked.contains(index), current[index] == nil { secrets.held = nil }
        return try secrets.sealed(operation, name: name, with: &keys, current: current[index])
    }

    /// Returns the name of a record for which the app has kept a protection that was not compared with the cloud's:
    /// after an owner reset their keys the cloud has another one, without a new version of the record (B-TM-12).
    private func keptRecordName(_ index: Int) -> String? {
        guard batch.secrets[index]?.held != nil, !looked.contains(index) else { return nil }
        return batch.request.operations[index].change.recordName
    }

    private func unsentOutcome(_ operation: RecordOperation) -> RecordOutcome {
        let name = operation.change.recordName ?? ""
        return .failed(
            recordName: name,
            RequestFailure(
                .atomicFailure, "Record \(name) will not be saved because of previous error in atomic zone",
                remedy: "Mend the records with errors of their own and send all again."))
    }

    /// Takes the outcomes of a request.
    ///
    /// - Returns: The names of the records to fetch before everything unsettled is sent again; empty when all is
    ///   settled.
    mutating func take(_ answers: [RecordOutcome]) -> [String] {
        var stale: [Int] = []
        for (index, answer) in zip(pending, answers) {
            if isStale(answer, index) { stale.append(index) }
        }
        let staleNames = Set(stale.compactMap { batch.request.operations[$0].change.recordName })
        // A share that begins with such a root was refused for want of it.
        let waiting = pending.filter { index in
            let root = batch.request.operations[index].change.share?.root?.recordName
            return root.map(staleNames.contains) ?? false
        }
        // In a batch that is all or nothing the others were not saved either.
        let unsettled =
            isAtomic && !stale.isEmpty ? pending : pending.filter { stale.contains($0) || waiting.contains($0) }
        for (index, answer) in zip(pending, answers) where !unsettled.contains(index) {
            settled[index] = .success(answer)
        }
        last = Dictionary(zip(pending, answers)) { _, new in new }
        pending = unsettled
        (current, looked) = ([:], [])
        wanted = stale.compactMap { batch.request.operations[$0].change.recordName }
        return wanted
    }

    /// Settles the remaining operations with their last outcomes when the attempts are used up.
    mutating func giveUp() {
        for index in pending { settled[index] = last[index].map { .success($0) } }
        pending = []
    }

    /// Settles the remaining operations with a failure.
    mutating func fail(_ failure: CallFailure) {
        for index in pending { settled[index] = .failure(failure) }
        pending = []
    }

    /// Returns a Boolean value that indicates whether the record has to be sealed again. A record that is saved
    /// unconditionally, and that changed while it was sealed again, is fetched once more.
    private func isStale(_ answer: RecordOutcome, _ index: Int) -> Bool {
        guard case .failed(_, let failure) = answer, batch.secrets[index] != nil else { return false }
        if failure.code == .staleKeyEpoch { return true }
        let isOvertaken = failure.code == .conflict || failure.code == .itemNotFound
        return isOvertaken && current[index] != nil && batch.request.operations[index].kind == .forceUpdate
    }

    /// Takes the fetched records that were `wanted`; a record that is missing does not exist.
    mutating func look(at records: [OpenedRecord]) {
        let byName = Dictionary(records.map { ($0.record.id.recordName, $0) }) { _, last in last }
        let asked = Set(wanted)
        for index in pending {
            guard batch.secrets[index] != nil, let name = batch.request.operations[index].change.recordName,
                asked.contains(name)
            else { continue }
            looked.insert(index)
            current[index] = byName[name]
        }
    }
}

extension ModifyPlan.Batch {
    /// These operations, each after the one that saves its record's parent.
    fileprivate func parentsFirst(_ indices: [Int]) -> [Int] {
        guard secrets.values.contains(where: { $0.parent != nil }) else { return indices }
        var parents: [String: String] = [:]
        for (index, secrets) in secrets {
            if let name = request.operations[index].change.recordName { parents[name] = secrets.parent }
        }
        func depth(_ index: Int) -> Int {
            var depth = 0
            var name = request.operations[index].change.recordName
            // Parents may form a circle until the cloud refuses it.
            while let parent = name.flatMap({ parents[$0] }), depth < indices.count {
                depth += 1
                name = parent
            }
            return depth
        }
        let depths = indices.map { (index: $0, depth: depth($0)) }
        return depths.enumerated().sorted { ($0.element.depth, $0.offset) < ($1.element.depth, $1.offset) }
            .map(\.element.index)
    }
}
