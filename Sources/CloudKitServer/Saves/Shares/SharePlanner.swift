import CloudKitModel
import CloudKitRecordLayer

/// Plans the effect of a batch on shares: which changes are allowed, which shares begin, change and end, and which records
/// enter and leave trees.
///
/// Does and reads nothing where nothing is shared or will be.
struct SharePlanner {
    let batch: ChangeBatch
    let access: CallerAccess
    /// Versions taken as numbers of shares that begin are gone from it.
    private(set) var database: DatabaseHeader
    /// A flag for batches that concern shares.
    let isActive: Bool
    /// As they are before the batch.
    private(set) var memberships: [String: ShareMembership] = [:]
    private(set) var shares: [String: StoredShare] = [:]
    private(set) var plan = PlannedShareChanges()
    /// Shares that are saved, by the names of their records, as decided without regard to their roots.
    private var saved: [String: ShareDecision] = [:]
    private var left: Set<String> = []
    /// The names of the records that the batch saves.
    private let savedNames: Set<String>

    init(
        _ batch: ChangeBatch, access: CallerAccess, database: DatabaseHeader, held: [String: StoredRecord] = [:],
        _ view: some StorageView
    ) async throws {
        self.batch = batch
        self.access = access
        self.database = database
        savedNames = Set(batch.items.lazy.filter { !$0.kind.isDelete }.map(\.name))
        isActive = access.zone.sharing != .none || batch.items.contains { $0.share != nil }
        guard isActive else { return }
        try await loadMemberships(of: Array(held.keys), view)
        let names = held.values.compactMap { $0.recordType == Validity.shareRecordType ? $0.name : $0.share }
        try await loadShares(names, view)
    }

    private var zone: ZoneHeader { access.zone }

    mutating func loadMemberships(of names: [String], _ view: some StorageView) async throws {
        guard case .trees = zone.sharing, !names.isEmpty else { return }
        let found = try await view.shareMemberships(zone: zone.number, recordNames: names)
        for (name, membership) in zip(names, found) { memberships[name] = membership }
    }

    mutating func loadShares(_ names: [String], _ view: some StorageView) async throws {
        let names = Array(Set(names.filter { shares[$0] == nil }))
        if names.isEmpty { return }
        let found = try await view.shares(zone: zone.number, names: names)
        var written = names
        for case let share? in found {
            shares[share.name] = share
            if let root = share.root { written.append(root) }
        }
        // They may be written with others: the record of a share that ends with its root, and the root of one that ends alone.
        try await loadMemberships(of: written.filter { memberships[$0] == nil }, view)
    }

    /// Returns the tree of a record that is written without being in the batch: a root or a share that changes with
    /// one.
    func unplanned(_ name: String) -> UInt64? {
        if savedNames.contains(name) { return nil }
        if let decision = plan.decisions.values.first(where: { $0.share.root == name }) { return decision.share.number }
        if plan.ended.values.contains(where: { $0.root == name || $0.name == name }) { return nil }
        return memberships[name]?.share
    }

    func standing(of record: StoredRecord) -> ShareAccessLevel {
        access.standing(in: memberships[record.name]?.share)
    }
}

// MARK: One record

extension SharePlanner {
    /// Decides one record independently of the rest of the batch, by the rights of the caller.
    mutating func draft(
        _ item: IncomingChange, held: StoredRecord?, with planner: inout ChangePlanner
    ) throws -> PlannedChange {
        guard isActive else { return try planner.draft(item, held: held) }
        if let fault = item.fault { return .failed(fault) }
        let live = held.flatMap { $0.isTombstone ? nil : $0 }
        if (live?.recordType ?? item.recordType) == Validity.shareRecordType {
            return try draftShare(item, previous: held, live, with: &planner)
        }
        guard let live, !access.isOwner else { return try planner.draft(item, held: held) }
        let verb = item.kind.isDelete ? ShareAuthorization.Verb.delete : .change
        let object = live.share == nil ? ShareAuthorization.Object.record : .root
        switch ShareAuthorization.verdict(verb, object, for: standing(of: live)) {
        case .allow: return try planner.draft(item, held: held)
        case .leave:
            if let share = live.share { left.insert(share) }
            return .alreadyGone
        case .refuse: return .failed(.writeNotPermitted)
        case .hide: return try hidden(item, with: &planner)
        }
    }

    /// Plans a change of a record whose existence is hidden from the caller.
    private func hidden(_ item: IncomingChange, with planner: inout ChangePlanner) throws -> PlannedChange {
        if item.kind.isDelete || item.kind.checksTag { return try planner.draft(item, held: nil) }
        // The name is taken, so this fails; the error reveals nothing of the record.
        return .failed(.notInShare)
    }

    private mutating func draftShare(
        _ item: IncomingChange, previous: StoredRecord?, _ live: StoredRecord?, with planner: inout ChangePlanner
    ) throws -> PlannedChange {
        if item.kind.isDelete {
            guard let live, !access.isOwner else { return try planner.draft(item, held: previous) }
            switch ShareAuthorization.verdict(.delete, .share, for: standing(of: live)) {
            case .leave:
                left.insert(live.name)
                return .alreadyGone
            case .allow, .refuse: return .failed(.writeNotPermitted)
            case .hide: return try hidden(item, with: &planner)
            }
        }
        if let refusal = shareRefusal(item, live) { return .failed(refusal) }
        if let live, standing(of: live) == .none { return try hidden(item, with: &planner) }
        let draft = try planner.draft(item, held: previous)
        guard case .save = draft else { return draft }
        do throws(RequestFailure) {
            saved[item.name] = try decision(on: item)
            return draft
        } catch {
            if error == .shareWithoutRoot { throw error }
            return .failed(error)
        }
    }

    /// Returns the reason why a share cannot be saved here, by this caller or at all.
    private func shareRefusal(_ item: IncomingChange, _ live: StoredRecord?) -> RequestFailure? {
        switch batch.place.scope {
        case .public:
            return RequestFailure(
                .badDatabase, "shares cannot be saved in the public database", remedy: "Use a custom private zone.")
        case .private, .shared: break
        }
        guard zone.isCustom else {
            return RequestFailure(
                .badRequest, "the default zone cannot be shared", remedy: "Keep what is to be shared in a custom zone.")
        }
        // A change of a record that does not exist fails like one of a record that the caller must not know of
        // (B-ACP-02).
        guard let live else { return access.isOwner || item.kind.checksTag ? nil : .notInShare }
        if ShareAuthorization.verdict(.change, .share, for: standing(of: live)) == .refuse { return .writeNotPermitted }
        // Rule B-SAV-09: the tag is checked under every policy; an operation with a type has become one that checks it.
        let isForced = item.kind == .forceUpdate || item.kind == .forceReplace
        return isForced && item.tag != live.changeTag && standing(of: live) != .none ? .staleTag : nil
    }

    private mutating func decision(on item: IncomingChange) throws(RequestFailure) -> ShareDecision {
        let change = item.share?.change ?? ShareChange()
        var held = shares[item.name]
        if held == nil {
            let isZoneWide = item.name == Share.zoneWideName
            guard isZoneWide == (change.root == nil) else { throw .shareWithoutRoot }
            held = StoredShare(
                name: item.name, number: database.takeVersions(1), root: change.root?.recordName,
                shortGUID: item.share?.shortGUID ?? "", ownerID: item.share?.ownerID ?? "")
        }
        guard let held else { throw .shareWithoutRoot }
        return try ShareDecision(
            change, of: held, ownedBy: batch.place.owner, by: batch.place.caller.user, zoneEpoch: zone.keyEpoch,
            oneTimeGUIDs: item.share?.oneTimeGUIDs ?? [:],
            now: batch.now)
    }
}

extension RequestFailure {
    /// B-SHR-03.
    static let shareWithoutRoot = RequestFailure(
        .badRequest, "An added share is being saved without its rootRecord being saved in the same operation.",
        remedy: "Save the root record together with the new share.")

    /// B-SHR-05.
    static let alreadyShared = RequestFailure(
        .alreadyShared, "the record is shared already, or would share what is shared already",
        remedy: "Change the share that there is, or stop it first.")

    /// docs/web-services.md §10.1.
    static let noRecordToShare = RequestFailure(
        .itemNotFound, "Cannot share - no such record exists to share", remedy: "Save the record first.")
}

// MARK: The whole of it

extension SharePlanner {
    /// Decides the effects of the drafts that have not failed on shares and trees together; drafts that break a rule
    /// fail.
    ///
    /// Called again when other rules have refused more of the batch.
    mutating func evaluate(
        _ plannedChanges: inout [PlannedChange], held: [String: StoredRecord], _ view: some StorageView
    ) async throws {
        guard isActive else { return }
        plan = PlannedShareChanges()
        plan.left = left
        keepRecordsOfLeftShares(&plannedChanges)
        for index in plannedChanges.indices { plannedChanges[index].resetShare(batch.items[index]) }
        noteEnded(plannedChanges)
        for index in plannedChanges.indices { plannedChanges[index].leaveShares(plan.ended) }
        try await beginShares(&plannedChanges, held: held, view)
        var trees = ShareTreePlanner(
            zone: zone, plan: plan, batch: batch, memberships: memberships, held: held, plannedChanges: plannedChanges)
        try await trees.place(view)
        for (position, failure) in trees.failures { plannedChanges[position] = .failed(failure) }
        if access.isOwner == false { try await checkMember(&plannedChanges, trees: trees, held: held, view) }
        plan.after = trees.after
        plan.moves = trees.moves
        checkExposedKeys(&plannedChanges)
        try await loadLeavings(view)
    }

    /// Keeps the records of shares that the caller leaves (B-ACP-06): the caller deletes nothing of the owner's in the same
    /// request. The records disappear for the caller with the participant slot, which is all that an app that deletes the share means.
    private func keepRecordsOfLeftShares(_ plannedChanges: inout [PlannedChange]) {
        let leftNumbers = Set(left.compactMap { shares[$0]?.number })
        if leftNumbers.isEmpty { return }
        for case (let index, .delete(let deletion)) in zip(plannedChanges.indices, plannedChanges) {
            let tree = memberships[deletion.held.name]?.share ?? zone.sharing.wholeShare
            if let tree, leftNumbers.contains(tree) { plannedChanges[index] = .alreadyGone }
        }
    }

    private mutating func noteEnded(_ plannedChanges: [PlannedChange]) {
        for case .delete(let deletion) in plannedChanges { noteEnd(of: deletion.held) }
    }

    private mutating func noteEnd(of record: StoredRecord) {
        let name = record.recordType == Validity.shareRecordType ? record.name : record.share
        if let name, let share = shares[name] { plan.ended[name] = share }
    }

    private mutating func beginShares(
        _ plannedChanges: inout [PlannedChange], held: [String: StoredRecord], _ view: some StorageView
    ) async throws {
        var sharing = zone.sharing
        for share in plan.ended.values { sharing = share.root == nil ? .none : sharing.adding(trees: -1) }
        var roots: Set<String> = []
        for (position, item) in batch.items.enumerated() {
            guard case .save = plannedChanges[position], var decision = saved[item.name] else { continue }
            if shares[item.name] == nil {
                do {
                    try begin(
                        &decision, item: item, sharing: &sharing, roots: &roots, plannedChanges: &plannedChanges,
                        held: held)
                    if decision.share.root == nil, let guid = try await view.zoneShareGUID(zone: zone.number) {
                        decision.replaceShortGUID(guid)
                    }
                    plan.begun.insert(item.name)
                } catch let failure as RequestFailure {
                    if failure.code == .badRequest, failure == .shareWithoutRoot { throw failure }
                    plannedChanges[position] = .failed(failure)
                    continue
                }
            }
            plannedChanges[position].setShare(nil, shortGUID: decision.share.shortGUID)
            plan.decisions[item.name] = decision
        }
    }

    /// Rules B-SHR-03, B-SHR-05, B-SHR-06, B-SHR-07.
    private func begin(
        _ decision: inout ShareDecision, item: IncomingChange, sharing: inout ZoneSharing,
        roots: inout Set<String>,
        plannedChanges: inout [PlannedChange], held: [String: StoredRecord]
    ) throws(RequestFailure) {
        guard let rootName = decision.share.root else {
            guard sharing == .none else {
                throw RequestFailure(
                    .badRequest, "records of the zone are shared already", remedy: "Stop sharing them first.")
            }
            sharing = .whole(decision.share.number)
            return
        }
        guard zone.encryptionScope == .perRecord else {
            throw RequestFailure(
                .serverRejected, "the zone has one key for all of its records: it can only be shared as a whole",
                remedy: "Share the zone, or use a zone of encryption scope perRecord.")
        }
        if case .whole = sharing {
            throw RequestFailure(
                .serverRejected, "the zone is shared as a whole", remedy: "Stop sharing the zone first.")
        }
        let position = batch.items.firstIndex { $0.name == rootName && !$0.kind.isDelete }
        if position == nil, batch.place.caller.surface == .native { throw .shareWithoutRoot }
        let root = held[rootName].flatMap { $0.isTombstone ? nil : $0 }
        let isDeleted = batch.items.contains { $0.name == rootName && $0.kind.isDelete }
        if let position {
            guard case .save = plannedChanges[position] else {
                // The root's own error says why; the share fails with it (B-BAT-02, B-BAT-13).
                throw plannedChanges[position].failure == nil ? .noRecordToShare : .atomicFailure(item.name)
            }
        } else {
            guard let root, !isDeleted else { throw .noRecordToShare }
            if let tag = item.share?.change.root?.changeTag, tag != root.changeTag { throw .staleTag }
        }
        guard root?.recordType != Validity.shareRecordType, rootName != item.name else {
            throw RequestFailure(.badRequest, "a share cannot be shared", remedy: "Name another root record.")
        }
        if let share = root?.share, plan.ended[share] == nil { throw .alreadyShared }
        guard roots.insert(rootName).inserted else { throw .alreadyShared }
        let own = position.flatMap { plannedChanges[$0].shortGUID }
        decision.replaceShortGUID(own ?? root?.shortGUID ?? decision.share.shortGUID)
        if let position { plannedChanges[position].setShare(item.name, shortGUID: decision.share.shortGUID) }
        sharing = sharing.adding(trees: 1)
    }

    /// Reads the positions at which entering records had left their new trees before, so that no record occurs in a
    /// feed twice.
    private mutating func loadLeavings(_ view: some StorageView) async throws {
        let begunNumbers = Set(plan.begun.compactMap { plan.decisions[$0]?.share.number })
        var entering: [UInt64: [String]] = [:]
        for (name, share) in plan.after where memberships[name]?.share != share {
            entering[share, default: []] += [name]
        }
        for move in plan.moves { if let share = move.to { entering[share, default: []] += [move.name] } }
        for (share, names) in entering where !begunNumbers.contains(share) {
            let leavings = try await view.shareLeavings(zone: zone.number, share: share, recordNames: names)
            for (name, leaving) in zip(names, leavings) { plan.leavings[name] = leaving }
        }
    }

    // MARK: Keys

    /// Requires a new key epoch when records leave a tree: its former readers have their keys (B-TM-05).
    ///
    /// A batch that takes records out of a tree, and seals them or others elsewhere under keys that the tree's members may have, is
    /// refused until the zone's next key epoch has begun. One that seals nothing begins that epoch.
    private mutating func checkExposedKeys(_ plannedChanges: inout [PlannedChange]) {
        let ended = plan.endedNumbers
        var isExposed = false
        func note(_ epoch: UInt32?, from tree: UInt64) {
            guard epoch == zone.keyEpoch else { return }
            isExposed = true
            // The end of a share begins an epoch anyway.
            if !ended.contains(tree) { plan.beginsKeyEpoch = true }
        }
        for case .save(let save) in plannedChanges {
            guard let held = save.held, let before = memberships[held.name]?.share, before != plan.after[held.name]
            else { continue }
            note(held.protection?.epoch, from: before)
        }
        for move in plan.moves {
            if let before = move.from?.share, before != move.to { note(move.keyEpoch, from: before) }
        }
        guard isExposed else { return }
        let begun = Set(plan.begun.compactMap { plan.decisions[$0]?.share.number })
        for (position, item) in batch.items.enumerated() where item.protection != nil {
            guard case .save(let save) = plannedChanges[position] else { continue }
            let before = save.held.flatMap { memberships[$0.name]?.share }
            let after = plan.after[item.name]
            if after.map({ $0 != before && !begun.contains($0) }) ?? true {
                plannedChanges[position] = .failed(.staleKeyEpoch)
            }
        }
    }

    // MARK: Members

    /// Refuses what members may not do (B-PRT-12, B-PRT-13): create outside, move out, refer to records they do not see.
    private func checkMember(
        _ plannedChanges: inout [PlannedChange], trees: ShareTreePlanner, held: [String: StoredRecord],
        _ view: some StorageView
    ) async throws {
        let targets = Set(
            plannedChanges.flatMap { draft -> [String] in
                if case .save(let save) = draft { save.added.map(\.target) } else { [] }
            })
        let stored = held.values.filter { targets.contains($0.name) && !$0.isTombstone }.map(\.name)
        let visible = try await access.visible(stored, view)
        var savedNames: Set<String> = []
        for (item, draft) in zip(batch.items, plannedChanges) { if case .save = draft { savedNames.insert(item.name) } }
        for (position, item) in batch.items.enumerated() {
            guard case .save(let save) = plannedChanges[position], save.recordType != Validity.shareRecordType else {
                continue
            }
            if let failure = memberFailure(item.name, save: save, trees: trees) {
                plannedChanges[position] = .failed(failure)
            } else if zone.sharing.wholeShare == nil,
                save.added.contains(where: { !visible.contains($0.target) && !savedNames.contains($0.target) })
            {
                plannedChanges[position] = .failed(.referenceLeavesShare)
            }
        }
    }

    private func memberFailure(_ name: String, save: PlannedSave, trees: ShareTreePlanner) -> RequestFailure? {
        let after = trees.after[name]
        guard let held = save.held else {
            return ShareAuthorization.verdict(.create, .record, for: access.standing(in: after)) == .allow
                ? nil : .notInShare
        }
        if held.share != nil, held.parent != save.parent { return .notInShare }
        return after == memberships[name]?.share ? nil : .notInShare
    }

    // MARK: What goes along

    /// Decides what deletions take with them: shares whose root goes end; a member's deletion takes nothing that the
    /// member could not delete.
    mutating func evaluate(
        cascade names: [String], _ plannedChanges: inout [PlannedChange], _ view: some StorageView
    ) async throws {
        guard isActive, !names.isEmpty else { return }
        try await loadMemberships(of: names, view)
        let records = try await view.records(zone: zone.number, names: names).compactMap { $0 }
        try await loadShares(
            records.compactMap { $0.recordType == Validity.shareRecordType ? $0.name : $0.share }, view)
        let isAllowed = records.allSatisfy { record in
            let isShare = record.recordType == Validity.shareRecordType
            let object = isShare ? ShareAuthorization.Object.share : record.share == nil ? .record : .root
            return ShareAuthorization.verdict(.delete, object, for: standing(of: record)) == .allow
        }
        if isAllowed {
            for record in records { noteEnd(of: record) }
            return
        }
        for position in plannedChanges.indices {
            if case .delete = plannedChanges[position] { plannedChanges[position] = .failed(.deletionLeavesShare) }
        }
    }
}

extension RequestFailure {
    static let referenceLeavesShare = RequestFailure(
        .accessDenied, "WRITE operation not permitted: a reference points out of the share",
        remedy: "Refer to records that are shared, or use references without an action.")

    static let deletionLeavesShare = RequestFailure(
        .accessDenied, "WRITE operation not permitted: records outside of the share would go as well",
        remedy: "Ask the owner to delete the record.")
}

extension PlannedChange {
    fileprivate var shortGUID: String? { if case .save(let save) = self { save.shortGUID } else { nil } }

    /// Makes the root of a share that ends an ordinary record (B-ACP-08).
    fileprivate mutating func leaveShares(_ ended: [String: StoredShare]) {
        guard case .save(var save) = self, let share = save.share, ended[share] != nil else { return }
        save.share = nil
        self = .save(save)
    }

    /// Undoes the effect of an earlier evaluation on a root.
    fileprivate mutating func resetShare(_ item: IncomingChange) {
        guard case .save(var save) = self else { return }
        save.share = save.held?.share
        save.shortGUID = save.held?.shortGUID ?? item.shortGUID
        self = .save(save)
    }

    fileprivate mutating func setShare(_ share: String?, shortGUID: String) {
        guard case .save(var save) = self else { return }
        save.share = share
        save.shortGUID = shortGUID
        self = .save(save)
    }
}
