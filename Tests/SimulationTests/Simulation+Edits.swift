import CloudKitModel
import CloudKitServer

@testable import CloudKitClient

/// An edit of a record by a device.
struct Edit {
    var place: Place
    var name: String
    var kind: RecordOperation.Kind
    /// The device's version.
    var tag: ChangeTag?
    /// The plain fields of that version.
    var known: [String: String]?
    /// The plain fields to set, as JSON; nil to remove a field.
    var fields: [String: String?] = [:]
    var parent = ParentChange.keep
    var file: AttachedFile?
    /// The encrypted field's new value, plain and encrypted.
    var secret: SealedSecret?

    var operation: RecordOperation {
        var changes = fields.sorted { $0.key < $1.key }.map { name, json -> FieldChange in
            guard let json else { return .remove(name: name) }
            return .set(Field(name: name, type: name == "n" ? .int64 : .string, json: Array(json.utf8)))
        }
        if let secret { changes.append(.set(secret.field)) }
        if let file, let field = try? Field(name: "file", value: .asset(file.value)) { changes.append(.set(field)) }
        return RecordOperation(
            kind,
            RecordChange(
                recordName: name, recordType: "Note", fields: changes, changeTag: kind.checksTag ? tag : nil,
                parent: parent, protection: secret?.protection))
    }

    func parent(insteadOf held: String?) -> String? {
        switch parent {
        case .keep: held
        case .remove: nil
        case .set(let name): name
        }
    }

    func applied(to held: Content?) -> Content {
        var content = held ?? Content()
        content.parent = parent(insteadOf: held?.parent)
        for (name, json) in fields { content.fields[name] = json }
        if let secret { content.fields["secret"] = secret.plain }
        if let file { content.fields["file"] = file.text }
        return content
    }
}

/// An encrypted value to be sent.
struct SealedSecret {
    var plain: String
    var field: Field
    var protection: Protection
}

// MARK: Expected results

extension Simulation {
    /// Returns the expected failure of a whole request for a zone; nil for success.
    func zoneRefusal(_ place: Place, by person: Int) -> RequestFailure.Code? {
        let zone = model[place]
        if person != place.owner {
            return zone.state == .live && model.isMember(person, of: place) ? nil : .zoneNotFound
        }
        switch zone.state {
        case .live: return nil
        case .absent: return .zoneNotFound
        case .purged: return .zonePurged
        case .reset: return .zoneKeysReset
        }
    }

    /// Returns the expected failure of an edit of the present version; nil for success.
    func refusal(_ edit: Edit, by person: Int) -> RequestFailure.Code? {
        let zone = model[edit.place]
        guard let item = zone.items[edit.name] else {
            if edit.kind == .update { return .itemNotFound }
            return sealingRefusal(edit, nil) ?? creationRefusal(edit, by: person)
        }
        if person != edit.place.owner {
            let tree = zone.tree(of: edit.name).flatMap { zone.trees[$0] }
            let isSeen = tree?.isMember(person) ?? false
            // The existence of invisible records is not revealed.
            if !isSeen { return edit.kind == .update ? .itemNotFound : .accessDenied }
            if model.word("change", on: edit.name, by: person, in: edit.place) != "yes" { return .accessDenied }
        }
        if edit.kind == .create { return .recordExists }
        return sealingRefusal(edit, item) ?? moveRefusal(edit, item, by: person)
    }

    /// Returns the expected failure of an edit because of its record's keys or statement.
    private func sealingRefusal(_ edit: Edit, _ item: Content?) -> RequestFailure.Code? {
        let zone = model[edit.place]
        let held = zone.protections[edit.name]?.statement ?? []
        guard let sent = edit.secret?.protection else {
            let isMoved = edit.parent(insteadOf: item?.parent) != item?.parent
            // The same file in the same field changes nothing.
            let changesFile = edit.file.map { $0.text != item?.fields["file"] } ?? false
            return !held.isEmpty && (changesFile || isMoved) ? .badRequest : nil
        }
        if sent.epoch < zone.keyEpoch || overwritesKeys(edit) { return .staleKeyEpoch }
        // The same request again.
        if sent.statement == held { return nil }
        let present = held.isEmpty ? StatementForm.noTag[...] : StatementForm.tag(of: held)
        guard StatementForm.previousTag(of: sent.statement) == present else { return .staleRecordStatement }
        if item == nil, !sent.statement.isEmpty, StatementForm.recordVersion(of: sent.statement) <= zone.statementFloor
        {
            return .staleRecordStatement
        }
        let stated = StatementForm.created(of: sent.statement)
        return stated == nil || stated == zone.creations[edit.name] ? nil : .staleRecordStatement
    }

    /// Returns whether an edit moves records out of a tree whose members have their keys of this epoch.
    private func exposesKeys(_ edit: Edit) -> Bool {
        let zone = model[edit.place]
        guard !zone.isSharedWhole, let item = zone.items[edit.name], item.share == nil,
            let before = zone.tree(of: edit.name), before != target(of: edit, item)
        else { return false }
        return zone.subtree(of: edit.name).contains { zone.protections[$0]?.epoch == zone.keyEpoch }
    }

    /// Returns the tree of an edit's new parent.
    private func target(of edit: Edit, _ item: Content) -> String? {
        let zone = model[edit.place]
        return edit.parent(insteadOf: item.parent).flatMap { zone.items[$0] == nil ? nil : zone.tree(of: $0) }
    }

    /// Returns whether an edit of an outdated version would change the wrapping of a record's key.
    private func overwritesKeys(_ edit: Edit) -> Bool {
        guard let secret = edit.secret, edit.kind == .forceUpdate, let held = model[edit.place].protections[edit.name]
        else {
            return false
        }
        return !held.hasSameKeys(as: secret.protection)
    }

    private func creationRefusal(_ edit: Edit, by person: Int) -> RequestFailure.Code? {
        let zone = model[edit.place]
        let parent = edit.parent(insteadOf: nil)
        if person != edit.place.owner {
            let tree =
                zone.isSharedWhole
                ? zone.tree(of: "") : parent.flatMap { zone.items[$0] == nil ? nil : zone.tree(of: $0) }
            let role = tree.flatMap { zone.trees[$0] }.flatMap { $0.isMember(person) ? $0.role(of: person) : nil }
            let word =
                role.map { model.word(for: "create", object: "in tree", role: $0) }
                ?? model.word(for: "create", object: "outside", role: model.role(of: person, in: edit.place))
            if word != "yes" { return .accessDenied }
        }
        if let parent, zone.items[parent] == nil { return .referenceViolation }
        return nil
    }

    private func moveRefusal(_ edit: Edit, _ item: Content, by person: Int) -> RequestFailure.Code? {
        let zone = model[edit.place]
        let parent = edit.parent(insteadOf: item.parent)
        if parent == item.parent { return nil }
        let target = target(of: edit, item)
        if person != edit.place.owner, !zone.isSharedWhole, item.share != nil || target != zone.tree(of: edit.name) {
            return .accessDenied
        }
        if !zone.isSharedWhole, target != nil, zone.subtree(of: edit.name).contains(where: zone.isRoot) {
            return .alreadyShared
        }
        if edit.secret != nil, exposesKeys(edit) { return .staleKeyEpoch }
        if let parent, zone.items[parent] == nil { return .referenceViolation }
        return nil
    }
}

// MARK: Saving

extension Simulation {
    /// Saves one record and updates the device with the answer.
    ///
    /// - Parameter attempt: The number of repeated encryptions because of changed keys.
    func save(_ edit: Edit, on index: Int, _ event: String, attempt: Int = 0) async throws {
        let answer = try await deliver("\(devices[index].name) \(event) \(edit.name) in \(edit.place)") {
            try await judged([edit], atomic: true, on: index)
        }
        guard let answer else { return }
        try take(answer, of: [edit], on: index)
        guard attempt < 2, case .done(let outcomes) = answer, case .failed(_, let failure) = outcomes[0],
            failure.code == .staleKeyEpoch || failure.code == .staleRecordStatement
        else { return }
        try await saveAgain(edit, on: index, attempt: attempt + 1, wantsNewKeys: failure.code == .staleKeyEpoch)
    }

    /// Encrypts again for the cloud's record and epoch, as the framework does.
    private func saveAgain(_ stale: Edit, on index: Int, attempt: Int, wantsNewKeys: Bool) async throws {
        let place = zoneAddress(stale.place)
        guard try await learnEpoch(of: stale.place, on: index) else { return }
        // Encrypted again, and others have the key of this epoch.
        if attempt > 1, wantsNewKeys, stale.place.owner == devices[index].person,
            stale.secret?.protection.epoch == devices[index].keys.files.epochs.epoch(of: place) ?? 0
        {
            guard try await raiseEpoch(of: stale.place, on: index),
                try await learnEpoch(of: stale.place, on: index)
            else { return }
        }
        guard try await look(at: [stale.name], in: stale.place, on: index) else { return }
        let record = devices[index].zones[stale.place]?.records[stale.name]
        var edit = stale
        if edit.kind == .forceUpdate, let record {
            edit.kind = .update
            edit.tag = record.changeTag
            edit.known = plain(record).fields
        }
        guard try await sealForMove(&edit, on: index) else { return }
        try await save(edit, on: index, "saves again", attempt: attempt)
    }

    /// Returns the outcomes of distinct edits of one zone, checked against the model.
    func judged(_ edits: [Edit], atomic: Bool, on index: Int) async throws -> Answer<[RecordOutcome]> {
        let device = devices[index]
        let place = edits[0].place
        let whole = zoneRefusal(place, by: device.person)
        let refusals = edits.map { refusal($0, by: device.person) }
        var request = ModifyRecordsRequest(
            operations: edits.map(\.operation), zoneID: zoneID(place, for: device), atomic: atomic)
        request.stateUpdate = exchange(of: place, on: index, isFeed: false)?.request.update
        let answer = try await Answer {
            try await cloud.modifyRecords(request, in: address(place, for: device), by: device.caller)
        }
        switch answer {
        case .refused(let failure):
            try check(failure.code == whole, "\(failure.code) \(failure.reason), where the model says \(text(whole))")
        case .done(let outcomes):
            try check(whole == nil, "a request went through, where the model says \(text(whole))")
            let hasFailed = outcomes.contains { if case .failed = $0 { true } else { false } }
            for (position, outcome) in outcomes.enumerated() {
                try judge(
                    outcome, of: edits[position], refusal: refusals[position], isAbove: atomic && hasFailed,
                    by: device.person)
            }
            try check(
                !atomic || !hasFailed || !outcomes.contains { if case .record = $0 { true } else { false } },
                "a part of an atomic batch was saved")
        }
        return answer
    }

    func text(_ code: RequestFailure.Code?) -> String { code?.rawValue ?? "that it is done" }

    /// - Parameter isAbove: Whether another item's failure prevents this one.
    private func judge(
        _ outcome: RecordOutcome, of edit: Edit, refusal: RequestFailure.Code?, isAbove: Bool, by person: Int
    ) throws {
        let held = model[edit.place].items[edit.name]
        switch outcome {
        case .deleted: throw Violation("a save of \(edit.name) was answered as a deletion")
        case .failed(_, let failure) where failure.code == .conflict:
            try check(edit.kind == .update && held != nil, "a conflict where there cannot be one: \(edit.name)")
            try check(
                refusal != .accessDenied || model.word("change", on: edit.name, by: person, in: edit.place) == "yes",
                "a conflict names \(edit.name), which is not to be changed")
            let record = failure.serverRecord?.value
            try check(record?.changeTag != edit.tag, "a conflict with the version that the cloud holds")
            try check(
                record.map { plain($0) } == held.map { plain($0) }, "a conflict shows another record than the one held")
        case .failed(_, let failure):
            let isKeptBack = isAbove && failure.code == .atomicFailure && refusal == nil
            try check(
                isKeptBack || failure.code == refusal || lacksCapacity(failure, edit.place),
                "\(edit.name): \(failure.code) \(failure.reason), where the model says \(text(refusal)); sealed in epoch "
                    + "\(edit.secret.map { "\($0.protection.epoch)" } ?? "none") of \(model[edit.place].keyEpoch)")
            try check(
                failure.serverRecord == nil || refusal == .recordExists, "a refusal carries a record: \(edit.name)")
        case .record(let record):
            try check(refusal == nil, "\(edit.name) was saved, where the model says \(text(refusal))")
            try check(
                edit.kind != .create || !withoutRoom.contains(edit.place.owner),
                "\(edit.name) was added, where the quota is exhausted")
            if edit.kind == .update {
                let known = held?.fields.filter { $0.key != "secret" }
                try check(edit.known == known, "an update of \(edit.name) overwrote what its device had not seen")
            }
            if exposesKeys(edit) { model[edit.place].keyEpoch += 1 }
            let content = edit.applied(to: held)
            model[edit.place].items[edit.name] = content
            model[edit.place].note(record.protection, of: edit.name)
            model[edit.place].creations[edit.name] = record.created.timestamp
            if edit.secret != nil { hasSealed = true }
            try check(
                plain(record) == plain(content), "the answer to a save shows \(plain(record)), not \(plain(content))")
        }
    }

    private func plain(_ content: Content) -> Content {
        var content = content
        content.fields["secret"] = nil
        return content
    }

    /// Returns a record of the model without encrypted values.
    func plain(_ record: Record) -> Content {
        var content = Content(parent: record.parent, share: record.share)
        for field in record.fields where !field.type.isEncrypted {
            let file = (try? field.assets())?.first
            content.fields[field.name] =
                file.map { fileTexts[$0.fileChecksum] ?? "unknown" } ?? String(decoding: field.json, as: UTF8.self)
        }
        return content
    }

    /// Updates a device with the answer to its saves.
    func take(_ answer: Answer<[RecordOutcome]>, of edits: [Edit], on index: Int) throws {
        guard case .done(let outcomes) = answer else { return }
        let saved = outcomes.compactMap { if case .record(let record) = $0 { record } else { nil } }
        try note(saved: saved, in: edits[0].place, on: index)
        for (edit, outcome) in zip(edits, outcomes) {
            switch outcome {
            case .record(let record): devices[index].keep(record, in: edit.place)
            case .failed(let name, let failure):
                note("    \(failure.code)")
                if let record = failure.serverRecord?.value { devices[index].keep(record, in: edit.place) }
                if failure.code == .itemNotFound { devices[index].zones[edit.place]?.records[name] = nil }
            case .deleted: break
            }
        }
    }
}

// MARK: Random edits

extension Simulation {
    static let recordNames = (0..<8).map { "R\($0)" }

    /// Returns a zone that the device knows, or sometimes an inaccessible one.
    func someLocation(for device: Device) -> Place {
        let known = device.zones.keys.sorted()
        if roll(10) > 0, let place = pick(known) { return place }
        return pick(SimulatedUsers.zones) ?? SimulatedUsers.zones[0]
    }

    /// Returns an edit of the device's version of a record.
    func edit(_ name: String, _ kind: RecordOperation.Kind, in place: Place, on index: Int) -> Edit {
        let record = devices[index].zones[place]?.records[name]
        var edit = Edit(place: place, name: name, kind: kind)
        edit.tag = record?.changeTag ?? ChangeTag("unknown")
        edit.known = record.map { plain($0).fields }
        edit.fields["n"] = "\(fresh())"
        switch roll(4) {
        case 0: edit.fields["m"] = "\"text \(counter)\""
        case 1: edit.fields["m"] = .some(nil)
        default: break
        }
        return edit
    }

    func editRecord(on index: Int) async throws {
        let place = someLocation(for: devices[index])
        let known = devices[index].records(in: place).map(\.id.recordName)
        let name = (roll(5) > 0 ? pick(known) : nil) ?? pick(Self.recordNames) ?? "R0"
        var edit = edit(name, roll(3) == 0 ? .forceUpdate : .update, in: place, on: index)
        guard try await sealSometimes(&edit, on: index) else { return }
        try await save(edit, on: index, edit.kind == .update ? "updates" : "overwrites")
    }

    func addRecord(on index: Int) async throws {
        let place = someLocation(for: devices[index])
        let known = devices[index].records(in: place).map(\.id.recordName)
        let name =
            Self.recordNames.filter { !known.contains($0) || roll(10) == 0 }.randomElement(using: &chance) ?? "R0"
        var edit = edit(name, .create, in: place, on: index)
        let isMember = place.owner != devices[index].person
        if let parent = pick(known.filter { $0 != name }), isMember || roll(4) > 0 {
            edit.parent = .set(recordName: parent)
        }
        if model[place].subtree(of: name).contains(edit.parent(insteadOf: nil) ?? "") { edit.parent = .keep }
        guard try await sealSometimes(&edit, on: index) else { return }
        try await save(edit, on: index, "adds, below \(edit.parent(insteadOf: nil) ?? "nothing"),")
    }

    /// Adds a record with a name that is new to the device.
    func add(_ name: String, below parent: String?, in place: Place, on index: Int) async throws {
        var edit = edit(name, .create, in: place, on: index)
        if let parent { edit.parent = .set(recordName: parent) }
        guard try await sealSometimes(&edit, on: index) else { return }
        try await save(edit, on: index, "adds, below \(parent ?? "nothing"),")
    }

    func moveRecord(on index: Int) async throws {
        let place = someLocation(for: devices[index])
        let known = devices[index].records(in: place).map(\.id.recordName)
        guard let name = pick(known) else { return }
        // A record is never below itself, even if the device's copy is outdated.
        let below = Set(model[place].subtree(of: name))
        let target = roll(4) == 0 ? nil : pick(known.filter { !below.contains($0) })
        if place.owner == devices[index].person, let target, model[place].tree(of: target) != nil {
            // As the framework does before a record enters a tree.
            try await repair(below: name, in: place, on: index)
        }
        var edit = edit(name, roll(3) == 0 ? .update : .forceUpdate, in: place, on: index)
        edit.parent = target.map { .set(recordName: $0) } ?? .remove
        guard try await sealForMove(&edit, on: index) else { return }
        try await save(edit, on: index, "moves, below \(target ?? "nothing"),")
    }

    func editSeveral(on index: Int) async throws {
        let place = someLocation(for: devices[index])
        let known = devices[index].records(in: place).map(\.id.recordName)
        let names = Array((known.isEmpty || roll(4) == 0 ? Self.recordNames : known).shuffled(using: &chance).prefix(3))
        let edits = names.map {
            edit($0, roll(6) == 0 ? .create : roll(2) == 0 ? .update : .forceUpdate, in: place, on: index)
        }
        let isAtomic = roll(3) > 0
        let event = "\(devices[index].name) saves \(names) in \(place)\(isAtomic ? ", all or none" : "")"
        let answer = try await deliver(event) { try await judged(edits, atomic: isAtomic, on: index) }
        if let answer { try take(answer, of: edits, on: index) }
    }
}

// MARK: Deleting

extension Simulation {
    func deleteRecord(on index: Int) async throws {
        let place = someLocation(for: devices[index])
        let known = devices[index].records(in: place).map(\.id.recordName)
        guard let name = (roll(5) > 0 ? pick(known) : pick(Self.recordNames)) else { return }
        try await delete(name, in: place, on: index)
    }

    /// Deletes a record or a share, which leaves it for a member.
    func delete(_ name: String, in place: Place, on index: Int) async throws {
        let done = try await deliver("\(devices[index].name) deletes \(name) in \(place)") {
            try await judgedDeletion(name, in: place, on: index)
        }
        guard done == true else { return }
        devices[index].zones[place]?.records[name] = nil
        note(deleted: name, in: place, on: index)
    }

    private func judgedDeletion(_ name: String, in place: Place, on index: Int) async throws -> Bool {
        let device = devices[index]
        let whole = zoneRefusal(place, by: device.person)
        let answer = try await Answer {
            try await cloud.modifyRecords(
                ModifyRecordsRequest(
                    operations: [RecordOperation(.forceDelete, RecordChange(recordName: name))],
                    zoneID: zoneID(place, for: device)),
                in: address(place, for: device), by: device.caller)[0]
        }
        let outcome: RecordOutcome
        switch answer {
        case .refused(let failure):
            try check(failure.code == whole, "deletion: \(failure.code), where the model says \(text(whole))")
            return false
        case .done(let value): outcome = value
        }
        try check(whole == nil, "a deletion went through, where the model says \(text(whole))")
        let expected = deletion(of: name, in: place, by: device.person)
        switch (outcome, expected) {
        case (.deleted, .refused), (.failed, .done), (.record, _):
            throw Violation("deletion of \(name): \(outcome), where the model says \(expected)")
        case (.failed(_, let failure), .refused(let code)):
            try check(failure.code == code, "deletion of \(name): \(failure.code), where the model says \(code)")
            return false
        case (.deleted, .done(let change)):
            let ended = model[place].trees.count - change.trees.count
            model[place] = change
            if ended > 0 { try await observeEpoch(of: place, risenByAtMost: ended) }
            return true
        }
    }

    /// Begins a key epoch at the end of a share whose keys were sent to a participant.
    private func observeEpoch(of place: Place, risenByAtMost steps: Int) async throws {
        let outcome = try await cloud.lookupZones(
            [ZoneID(zoneName: place.zone)], in: world.address(.private), by: devices[device(of: place.owner)].caller)[0]
        guard case .zone(let zone) = outcome else { throw Violation("\(place) is not there") }
        let held = model[place].keyEpoch
        try check((held...held + UInt32(steps)).contains(zone.keyEpoch), "the epoch of \(place) is \(zone.keyEpoch)")
        model[place].keyEpoch = zone.keyEpoch
    }

    private enum Deletion {
        /// The zone after it.
        case done(Model.Zone)
        case refused(RequestFailure.Code)
    }

    private func deletion(of name: String, in place: Place, by person: Int) -> Deletion {
        var zone = model[place]
        guard zone.items[name] != nil || zone.trees[name] != nil else { return .done(zone) }
        if person != place.owner {
            switch model.word("delete", on: name, by: person, in: place) {
            case "yes": break
            case "nothing": return .done(zone)
            case "leave":
                if let tree = zone.tree(of: name) { zone.trees[tree]?.slots[person] = nil }
                return .done(zone)
            default: return .refused(.accessDenied)
            }
        }
        if zone.trees[name] != nil {
            end(name, in: &zone)
            return .done(zone)
        }
        if !zone.children(of: name).isEmpty { return .refused(.referenceViolation) }
        if let share = zone.items[name]?.share { end(share, in: &zone) }
        zone.items[name] = nil
        zone.protections[name] = nil
        zone.creations[name] = nil
        zone.deletions[name] = zone.keyEpoch
        return .done(zone)
    }

    private func end(_ share: String, in zone: inout Model.Zone) {
        if let root = zone.trees[share]?.root { zone.items[root]?.share = nil }
        zone.trees[share] = nil
    }
}
