import CloudKitModel
import CloudKitRecordLayer

/// Checks the effects of a batch on references, all at once, so that the order inside the batch does not matter
/// (B-BAT-09).
///
/// Rules B-REF-03, B-REF-05 to B-REF-09. Reads nothing: the references to each deleted record, and the existence of
/// targets, have been looked up before.
package struct ReferenceCheck: Sendable {
    /// A record that is to be saved.
    package struct Save: Hashable, Sendable {
        /// The name of the record.
        package var name: String
        /// References that this save sets: their targets are looked at.
        package var set: [BackReference]
        /// All references of the record after the save.
        package var after: Set<BackReference>

        /// Creates a save from the references before and after it.
        package init(name: String, set: [BackReference], after: Set<BackReference>) {
            self.name = name
            self.set = set
            self.after = after
        }
    }

    /// By the position of the operation in the request.
    package var saves: [Int: Save] = [:]
    /// Names of records to be deleted, by the position of the operation.
    package var deletions: [Int: String] = [:]
    /// Saves and deletions that other rules have refused: records by these names stay as they are.
    package var failed: [Int: String] = [:]
    /// References in the store to each record that may go.
    package var stored: [String: [BackReference]] = [:]
    /// The targets of `saves` that the zone holds.
    package var existing: Set<String> = []
    /// A flag for cascades that happen at once, not later (B-REF-08).
    package var cascadesAtOnce = true

    /// Creates the check of an empty batch.
    package init() {}

    /// The outcome of the check.
    package struct Verdict: Hashable, Sendable {
        /// By the position of the operation.
        package var refused: [Int: RequestFailure] = [:]
        /// Records that go with the deleted ones, in the order found, without those deleted by operations.
        package var cascaded: [String] = []
        /// Deleted records that others will follow later.
        package var deferred: [String] = []
    }

    /// Refuses operation after operation until those that are left agree with one another.
    package func verdict() -> Verdict {
        var check = self
        var verdict = Verdict()
        while true {
            let gone = check.gone()
            let refused = check.refusals(gone)
            if refused.isEmpty {
                let deleted = Set(check.deletions.values)
                verdict.cascaded = gone.order.filter { !deleted.contains($0) }
                verdict.deferred = cascadesAtOnce ? [] : check.targetsOfOwners(deleted)
                return verdict
            }
            for (position, failure) in refused {
                verdict.refused[position] = failure
                let name = check.saves.removeValue(forKey: position)?.name
                check.failed[position] = name ?? check.deletions.removeValue(forKey: position)
            }
        }
    }

    /// The deleted records, with the deletion that causes each.
    private struct Gone {
        var order: [String] = []
        var names: Set<String> = []
        /// Records that go with the deletion at a position, itself included.
        var byDeletion: [Int: [String]] = [:]
    }

    private func gone() -> Gone {
        let saved = savesByName
        var gone = Gone()
        for (position, name) in deletions.sorted(by: { $0.key < $1.key }) {
            let with = cascadesAtOnce ? closure(of: name, saved) : [name]
            gone.byDeletion[position] = with
            for name in with where gone.names.insert(name).inserted { gone.order.append(name) }
        }
        return gone
    }

    private var savesByName: [String: Save] {
        Dictionary(saves.values.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns a record and all that point at it, or at one of those, with deleteSelf; cycles end (B-REF-07).
    private func closure(of name: String, _ saved: [String: Save]) -> [String] {
        var order = [name]
        var seen: Set<String> = [name]
        var next = 0
        while next < order.count {
            let owners = references(to: order[next], saved).filter { $0.kind == .deleteSelf }
            for owner in owners where seen.insert(owner.holder).inserted { order.append(owner.holder) }
            next += 1
        }
        return order
    }

    /// Returns the references to a record as they will be: those stored, but for records that are saved those they will
    /// hold.
    private func references(to target: String, _ saved: [String: Save]) -> [BackReference] {
        if saved.isEmpty { return stored[target] ?? [] }
        let kept = (stored[target] ?? []).filter { saved[$0.holder]?.after.contains($0) ?? true }
        let added = saved.values.flatMap { $0.set.filter { $0.target == target } }
        return added.isEmpty ? kept : kept + added.filter { !kept.contains($0) }
    }

    private func refusals(_ gone: Gone) -> [Int: RequestFailure] {
        let saved = savesByName
        let failedNames = Set(failed.values)
        var refused: [Int: RequestFailure] = [:]
        for (position, with) in gone.byDeletion {
            if let blocking = blocking(with, gone: gone.names, saved: saved) {
                refused[position] = .deletionViolates(blocking)
            }
        }
        for (position, save) in saves {
            if let missing = violation(of: save, gone: gone.names, failed: failedNames, saved: saved) {
                refused[position] = .saveViolates(missing)
            }
        }
        return refused
    }

    /// Returns a reference that prevents the deletion of records: one by a record that stays (B-REF-05), unless that
    /// also holds a deleteSelf reference to the same record and is deleted later (B-REF-06).
    private func blocking(_ going: [String], gone: Set<String>, saved: [String: Save]) -> BackReference? {
        for name in going {
            let references = references(to: name, saved)
            var leaving = gone
            if !cascadesAtOnce {
                leaving.formUnion(references.lazy.filter { $0.kind == .deleteSelf }.map(\.holder))
            }
            if let reference = references.first(where: { $0.kind != .deleteSelf && !leaving.contains($0.holder) }) {
                return reference
            }
        }
        return nil
    }

    /// Returns a reference of a record being saved that would have no target.
    private func violation(
        of save: Save, gone: Set<String>, failed: Set<String>, saved: [String: Save]
    ) -> BackReference? {
        if gone.contains(save.name) {
            return save.after.first { gone.contains($0.target) } ?? save.after.first
        }
        return save.set.first { reference in
            if reference.kind == .deleteSelf { return gone.contains(reference.target) }
            // A parent that was to be saved and could not be takes its children along, even if it exists (B-REF-09).
            if gone.contains(reference.target) || failed.contains(reference.target) { return true }
            return !existing.contains(reference.target) && saved[reference.target] == nil
        }
    }

    /// Deleted records that others point at with deleteSelf.
    private func targetsOfOwners(_ deleted: Set<String>) -> [String] {
        let saved = savesByName
        return deleted.filter { references(to: $0, saved).contains { $0.kind == .deleteSelf } }.sorted()
    }
}

extension RequestFailure {
    /// Names the field and the record in the way, as the live service does (B-REF-05).
    static func deletionViolates(_ reference: BackReference) -> RequestFailure {
        RequestFailure(
            .referenceViolation, "Record delete would violate validating reference, rejecting update",
            remedy: "Field '\(reference.field ?? "parent")' of record '\(reference.holder)' points to it: delete or "
                + "change that too.")
    }

    /// B-REF-03.
    static func saveViolates(_ reference: BackReference) -> RequestFailure {
        RequestFailure(
            .referenceViolation, "Record save would violate validating reference, rejecting update",
            remedy: "Field '\(reference.field ?? "parent")' of record '\(reference.holder)' points to '"
                + "\(reference.target)', which does not exist: save that too.")
    }
}
