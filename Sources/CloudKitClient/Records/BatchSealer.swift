import CloudKitEncryption
import CloudKitModel

/// The saves of one zone while they are sealed and sent; where the keys of the zone or of a record turn out to have
/// changed, they are sealed and sent again.
struct BatchSealer: Sendable {
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
    /// The statements that were sent with the last request; empty: none.
    private var sent: [Int: [UInt8]] = [:]
    /// The names of records that have to be looked at before anything more is sent.
    private(set) var wanted: [String] = []

    /// The version of records that have no statement yet; above those of the deleted records that an answer named.
    private var firstVersion: UInt64

    /// A record up to this version gets `firstVersion` next, too.
    private let renumberedUntil: UInt64

    /// Whether an answer has to show the statements that were sent.
    private let comparesAnswers: Bool

    /// - Parameters:
    ///   - firstVersion: The version of records that have no statement yet: the time in milliseconds, so that a
    ///     record which is created again does not repeat the versions of the deleted one.
    ///   - renumberedUntil: A record up to this version gets `firstVersion` next, too: in a restored cloud the number after it may be one
    ///     that was lost.
    ///   - comparesAnswers: false for an operation that outlives its process: its answer may be to what an earlier process sealed.
    init(
        _ batch: ModifyPlan.Batch, firstVersion: UInt64, renumberedUntil: UInt64 = 0, comparesAnswers: Bool = true
    ) {
        self.batch = batch
        self.firstVersion = firstVersion
        self.renumberedUntil = renumberedUntil
        self.comparesAnswers = comparesAnswers
        pending = Array(batch.items.indices)
    }

    /// A Boolean value that indicates whether some operations are settled, so that a later failure does not apply to
    /// all.
    var hasSettled: Bool { !settled.isEmpty }

    /// A Boolean value that indicates whether an operation was refused because of the key that it was sealed under.
    var wantsNewKeys: Bool {
        last.values.contains { if case .failed(_, let failure) = $0 { failure.code == .staleKeyEpoch } else { false } }
    }

    /// The outcomes of the operations, in their order.
    var outcomes: [Outcome] { batch.items.indices.compactMap { settled[$0] } }

    /// A Boolean value that indicates whether the operations take effect together or not at all.
    private var isAtomic: Bool { batch.wantsAtomic && !batch.zoneID.isDefaultZone }

    /// Returns the next request; nil: there is none, or the `wanted` records have to be fetched first.
    ///
    /// An operation that cannot be sealed is settled with that failure, and in an atomic batch it keeps the others from
    /// being sent (B-BAT-02).
    mutating func request(_ keys: ZoneKeys) async -> ModifyRecordsRequest? {
        var ready: [Int: RecordOperation] = [:]
        var failures: [Int: CallFailure] = [:]
        wanted = []
        for (index, result) in await operations(keys) {
            switch result {
            case .success(let operation): ready[index] = operation
            case .failure(let failure):
                failures[index] = failure
                if let name = keptRecordName(index) { wanted.append(name) }
            }
        }
        guard wanted.isEmpty else { return nil }
        for (index, failure) in failures { settled[index] = .failure(failure) }
        var sealed = pending.filter { ready[$0] != nil }
        if isAtomic, sealed.count < pending.count {
            for index in sealed { settled[index] = .success(unsentOutcome(batch.items[index])) }
            sealed = []
        }
        pending = sealed
        sent = ready.compactMapValues { $0.change.protection?.statement }.filter { !$0.value.isEmpty }
        return sealed.isEmpty ? nil : batch.request(sealed.compactMap { ready[$0] })
    }

    /// Returns the unsettled operations, sealed: many that do not depend on one another in two halves, side by side.
    private func operations(_ keys: ZoneKeys) async -> [SealedOperation] {
        // A parent's key is there before its children are wrapped under it.
        let indices = batch.parentsFirst(pending)[...]
        let areIndependent = indices.allSatisfy { batch.items[$0].secrets?.parent == nil }
        guard areIndependent, indices.count >= Self.parallelSealingMin else { return operations(indices, keys) }
        let middle = indices.count / 2
        async let first = operations(indices[..<middle], keys)
        let second = operations(indices[middle...], keys)
        return await first + second
    }

    /// An operation by its position in the batch, or the reason why it cannot be sealed.
    private typealias SealedOperation = (index: Int, result: Result<RecordOperation, CallFailure>)

    /// Fewer are sealed faster than a task begins.
    private static let parallelSealingMin = 32

    private func operations(_ indices: ArraySlice<Int>, _ known: ZoneKeys) -> [SealedOperation] {
        var keys = known
        return indices.map { index in
            do throws(CallFailure) {
                return (index, .success(try operation(index, &keys)))
            } catch {
                return (index, .failure(error))
            }
        }
    }

    private func operation(_ index: Int, _ keys: inout ZoneKeys) throws(CallFailure) -> RecordOperation {
        let item = batch.items[index]
        guard var secrets = item.secrets else { return item.operation }
        var operation = item.operation
        if looked.contains(index), current[index] == nil {
            (secrets.held, secrets.created) = (nil, nil)
            if let parent = secrets.parent, operation.change.parent == .keep {
                // The save makes a new record, which has no parent to keep.
                operation.change.parent = .set(recordName: parent)
                secrets.isMoved = true
            }
        }
        return try secrets.sealed(
            operation, name: item.id.recordName, with: &keys, current: current[index], firstVersion: firstVersion,
            renumberedUntil: renumberedUntil)
    }

    /// Returns the name of a record for which the app has kept a protection that was not compared with the cloud's:
    /// after an owner reset their keys the cloud has another one, without a new version of the record (B-TM-12).
    private func keptRecordName(_ index: Int) -> String? {
        guard batch.items[index].secrets?.held != nil, !looked.contains(index) else { return nil }
        return batch.items[index].id.recordName
    }

    private func unsentOutcome(_ item: ModifyPlan.Item) -> RecordOutcome {
        let name = item.id.recordName
        return .failed(
            recordName: name,
            RequestFailure(
                .atomicFailure, "Record \(name) will not be saved because of previous error in atomic zone",
                remedy: "Mend the records with errors of their own and send all again."))
    }

    /// The version of a deleted record from which this device goes on: half of all that there are, so that a cloud cannot use them up.
    private static let lastVersionMax = RecordStatement.versionMax / 2

    /// Takes the outcomes of a request.
    ///
    /// - Returns: The names of the records to fetch before everything unsettled is sent again; empty when all is
    ///   settled.
    mutating func take(_ answers: [RecordOutcome]) -> [String] {
        var stale: [Int] = []
        for (index, answer) in zip(pending, answers) {
            guard isStale(answer, index) else { continue }
            stale.append(index)
            if case .failed(_, let failure) = answer, let last = failure.lastVersion, last < Self.lastVersionMax {
                firstVersion = max(firstVersion, last + 1)
            }
        }
        let staleNames = Set(stale.map { batch.items[$0].id.recordName })
        // A share that begins with such a root was refused for want of it.
        let waiting = pending.filter { index in
            let root = batch.items[index].operation.change.share?.root?.recordName
            return root.map(staleNames.contains) ?? false
        }
        // In a batch that is all or nothing the others were not saved either.
        let unsettled =
            isAtomic && !stale.isEmpty ? pending : pending.filter { stale.contains($0) || waiting.contains($0) }
        for (index, answer) in zip(pending, answers) where !unsettled.contains(index) {
            settled[index] = checked(answer, index)
        }
        last = Dictionary(zip(pending, answers)) { _, new in new }
        pending = unsettled
        (current, looked) = ([:], [])
        wanted = stale.map { batch.items[$0].id.recordName }
        return wanted
    }

    /// Returns the outcome of an operation: a saved record has the statement that was sent with it, or a later one where others have changed
    /// it before a repeated request was answered.
    private func checked(_ answer: RecordOutcome, _ index: Int) -> Outcome {
        guard comparesAnswers, let statement = sent[index] else { return .success(answer) }
        let found: [UInt8]?
        switch answer {
        case .record(let record): found = record.protection?.statement
        case .failed(_, let failure) where failure.code == .changedSinceSave:
            found = failure.serverRecord?.value.protection?.statement
            if Self.follows(found, statement) { return .success(answer) }
        default: return .success(answer)
        }
        guard found != statement else { return .success(answer) }
        let name = batch.items[index].id.recordName
        return .failure(CallFailure(.wentBack(.otherAnswer), record: name))
    }

    /// Returns whether a statement is of a later version than another one.
    private static func follows(_ later: [UInt8]?, _ statement: [UInt8]) -> Bool {
        guard let later, let new = try? RecordStatement(later), let old = try? RecordStatement(statement) else {
            return false
        }
        return new.version > old.version
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
        guard case .failed(_, let failure) = answer, batch.items[index].secrets != nil else { return false }
        if failure.code == .staleKeyEpoch || failure.code == .staleRecordStatement { return true }
        let isOvertaken = failure.code == .conflict || failure.code == .itemNotFound
        return isOvertaken && current[index] != nil && batch.items[index].operation.kind == .forceUpdate
    }

    /// Takes the fetched records that were `wanted`; a record that is missing does not exist.
    mutating func look(at records: [OpenedRecord]) {
        let byName = Dictionary(records.map { ($0.record.id.recordName, $0) }) { _, last in last }
        let asked = Set(wanted)
        for index in pending {
            let name = batch.items[index].id.recordName
            guard batch.items[index].secrets != nil, asked.contains(name) else { continue }
            looked.insert(index)
            current[index] = byName[name]
        }
    }
}

extension ModifyPlan.Batch {
    /// These operations, each after the one that saves its record's parent.
    fileprivate func parentsFirst(_ indices: [Int]) -> [Int] {
        guard items.contains(where: { $0.secrets?.parent != nil }) else { return indices }
        var parents: [String: String] = [:]
        for item in items { parents[item.id.recordName] = item.secrets?.parent }
        func depth(_ index: Int) -> Int {
            var depth = 0
            var name: String? = items[index].id.recordName
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
