import CloudKitModel

/// The saves of one zone on their way: sealed and sent, and where the keys of the zone or of a record turn out to have
/// changed, sealed anew and sent again.
struct BatchSealing {
    private let batch: ModifyPlan.Batch
    /// Operations that were not settled yet.
    private var pending: [Int]
    private var settled: [Int: RecordOutcome] = [:]
    /// Records that had to be looked at.
    private var current: [Int: OpenedRecord] = [:]

    init(_ batch: ModifyPlan.Batch) {
        self.batch = batch
        pending = Array(batch.request.operations.indices)
    }

    /// What became of each operation, in their order, as far as it was answered.
    var outcomes: [RecordOutcome] { batch.request.operations.indices.compactMap { settled[$0] } }

    /// What is sent next.
    func request(_ keys: ZoneKeys) throws(CallFailure) -> ModifyRecordsRequest {
        var request = batch.request
        request.operations = []
        for index in pending { request.operations.append(try operation(index, keys)) }
        return request
    }

    private func operation(_ index: Int, _ keys: ZoneKeys) throws(CallFailure) -> RecordOperation {
        let operation = batch.request.operations[index]
        guard let secrets = batch.secrets[index], let name = operation.change.recordName else { return operation }
        return try secrets.sealed(operation, name: name, with: keys, current: current[index])
    }

    /// Takes the answers to what was sent.
    ///
    /// - Returns: The names of the records that have to be looked at before everything unsettled is sent again; empty when
    ///   all is settled.
    mutating func take(_ answers: [RecordOutcome]) -> [String] {
        var stale: [Int] = []
        for (index, answer) in zip(pending, answers) {
            settled[index] = answer
            if isStale(answer, index) { stale.append(index) }
        }
        guard !stale.isEmpty else {
            pending = []
            return []
        }
        // In a batch that is all or nothing the others were not saved either.
        let isAtomic = batch.request.atomic ?? true && !batch.request.zoneID.isDefaultZone
        if !isAtomic { pending = stale }
        return stale.compactMap { batch.request.operations[$0].change.recordName }
    }

    /// Whether the record has to be sealed anew. What was to be saved whatever the cloud holds, and was changed while it was
    /// sealed anew, is looked at once more.
    private func isStale(_ answer: RecordOutcome, _ index: Int) -> Bool {
        guard case .failed(_, let failure) = answer, batch.secrets[index] != nil else { return false }
        if failure.code == .staleKeyEpoch { return true }
        let isOvertaken = failure.code == .conflict || failure.code == .itemNotFound
        return isOvertaken && current[index] != nil && batch.request.operations[index].kind == .forceUpdate
    }

    /// Takes the records that were looked at; what is not among them does not exist.
    mutating func look(at records: [OpenedRecord]) {
        current = [:]
        let byName = Dictionary(records.map { ($0.record.id.recordName, $0) }) { _, last in last }
        for index in pending {
            guard batch.secrets[index] != nil, let name = batch.request.operations[index].change.recordName else {
                continue
            }
            current[index] = byName[name]
        }
    }
}
