import CloudKitEncryption
import CloudKitModel

/// Records of which a cloud that says it was restored has an older version than this device has seen.
extension DatabaseRequests {
    /// Sends those saves once more, with all fields of the record, that were refused because of such a version (B-SYN-17).
    ///
    /// The app is not asked to merge with it: what is saved was made from a newer one. Where the app does not know all sealed values of
    /// the cloud's version, or its own was made from an older one, the outcome stays: the record is not saved in part.
    ///
    /// - Parameter outcomes: The outcomes of the batch, in its order.
    func sendingLostAgain(
        _ outcomes: [ModifyItemOutcome], of batch: ModifyPlan.Batch, _ progress: @escaping AssetProgress
    ) async throws -> [ModifyItemOutcome] {
        let lost = batch.items.indices.filter { outcomes[$0].isOfLostVersion }
        guard !lost.isEmpty, !acceptsLostVersions else { return outcomes }
        var accepting = self
        accepting.acceptsLostVersions = true
        let names = lost.map { batch.items[$0].id.recordName }
        let found = await accepting.opened(try await looked(at: names, in: batch.zoneID))
        let held = Dictionary(found.map { ($0.record.id.recordName, $0) }) { _, last in last }
        var again: [Int: ModifyPlan.Item] = [:]
        for index in lost {
            again[index] = held[batch.items[index].id.recordName].flatMap { batch.items[index].saved(over: $0) }
        }
        guard !again.isEmpty else { return outcomes }
        var rest = batch
        // Where all or nothing takes effect, nothing has.
        let isWhole = batch.wantsAtomic && !batch.zoneID.isDefaultZone
        let sent = isWhole ? Array(batch.items.indices) : again.keys.sorted()
        rest.items = sent.map { again[$0] ?? batch.items[$0] }
        var all = outcomes
        for (index, outcome) in zip(sent, try await accepting.uploadAndSend(rest, progress)) { all[index] = outcome }
        return all
    }
}

extension ModifyItemOutcome {
    /// A Boolean value that indicates whether the save failed because the cloud has lost the version that it was made from.
    fileprivate var isOfLostVersion: Bool {
        switch result {
        case .failure(.lostVersion): return true
        case .failure(.refused):
            if case .failure(.lostVersion)? = serverRecord?.values { return true }
            return false
        default: return false
        }
    }
}

extension ModifyPlan.Item {
    /// Returns the save of the whole record in place of a lost version; nil: it may lose something.
    fileprivate func saved(over current: OpenedRecord) -> ModifyPlan.Item? {
        guard case .success = current.values, operation.change.share == nil, var item = whole?(),
            let known = secrets?.held, let base = try? RecordStatement(known.statement),
            let lost = current.version, lost.number < base.version
        else { return nil }
        let named = Set(
            (item.secrets?.fields ?? []).map(\.name) + item.operation.change.fields.map(\.name)
                + item.assets.map(\.name))
        let isWhole = current.record.fields.allSatisfy {
            !($0.type.isEncrypted || $0.holdsSealedFile) || named.contains($0.name)
        }
        guard isWhole else { return nil }
        item.keepPosition(of: self)
        item.operation.kind = .update
        item.operation.change.changeTag = current.record.changeTag
        item.secrets?.held = current.record.protection
        item.secrets?.isHeldChecked = true
        item.secrets?.created = current.record.created
        return item
    }
}
