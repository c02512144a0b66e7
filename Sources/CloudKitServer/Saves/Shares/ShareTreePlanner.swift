import CloudKitModel
import CloudKitRecordLayer

/// Finds the tree that each record is in after a batch: the share of the first root on its chain of parents, itself
/// included (B-SHR-01).
///
/// Where nothing in the batch moves, the parent's stored membership is the answer. Otherwise chains are followed up,
/// and the children of moved records are followed down.
struct ShareTreePlanner {
    private let zone: ZoneHeader
    private let plan: PlannedShareChanges
    private let batch: ChangeBatch
    private var memberships: [String: ShareMembership]
    private var held: [String: StoredRecord]
    private let plannedChanges: [PlannedChange]
    /// The saves of the batch by record name, with their positions.
    private var saves: [String: (position: Int, save: PlannedSave)] = [:]
    private var deleted: Set<String> = []
    /// Roots of shares that begin, and the number of the share.
    private var begun: [String: (number: UInt64, position: Int)] = [:]
    private var isMoving = false
    private var known: [String: UInt64?] = [:]

    private(set) var after: [String: UInt64] = [:]
    private(set) var moves: [PlannedShareChanges.Move] = []
    /// By the position of the operation.
    private(set) var failures: [Int: RequestFailure] = [:]

    init(
        zone: ZoneHeader, plan: PlannedShareChanges, batch: ChangeBatch, memberships: [String: ShareMembership],
        held: [String: StoredRecord], plannedChanges: [PlannedChange]
    ) {
        self.zone = zone
        self.plan = plan
        self.batch = batch
        self.memberships = memberships
        self.held = held
        self.plannedChanges = plannedChanges
        for (position, item) in batch.items.enumerated() {
            switch plannedChanges[position] {
            case .save(let save):
                saves[item.name] = (position, save)
                if let decision = plan.decisions[item.name], plan.begun.contains(item.name),
                    let root = decision.share.root
                {
                    begun[root] = (decision.share.number, position)
                }
                if let held = save.held, held.parent != save.parent { isMoving = true }
            case .delete: deleted.insert(item.name)
            case .alreadyGone, .failed: break
            }
        }
        if !begun.isEmpty || !plan.ended.isEmpty { isMoving = true }
    }

    /// Places every record of the batch, and those that move with one.
    mutating func place(_ view: some StorageView) async throws {
        // A zone shared as a whole has no trees: members read its feed.
        if zone.sharing.wholeShare != nil, begun.isEmpty { return }
        for (name, entry) in saves {
            if let share = plan.decisions[name]?.share {
                if share.root != nil { after[name] = share.number }
            } else {
                after[name] = try await tree(of: name, view)
                try await checkOverlap(name, parent: entry.save.parent, position: entry.position, view)
            }
        }
        guard isMoving else { return }
        for (root, begin) in begun where saves[root] == nil {
            try await checkOverlap(root, parent: held[root]?.parent, position: begin.position, view)
        }
        for (name, cause) in starts() {
            if saves[name] == nil { after[name] = try await tree(of: name, view) }
            try await moveChildren(of: name, cause: cause, view)
        }
    }

    /// Records that were there and change trees, or whose tree begins or ends, with the operation to blame.
    private func starts() -> [(name: String, cause: Int?)] {
        var starts: [(name: String, cause: Int?)] = []
        for (name, entry) in saves where entry.save.held != nil && plan.decisions[name] == nil {
            if memberships[name]?.share != after[name] {
                starts.append((name, begun[name]?.position ?? entry.position))
            }
        }
        for (root, begin) in begun where saves[root] == nil { starts.append((root, begin.position)) }
        for share in plan.ended.values {
            guard let root = share.root, saves[root] == nil, !deleted.contains(root), begun[root] == nil else {
                continue
            }
            starts.append((root, nil))
        }
        return starts.sorted { $0.name < $1.name }
    }

    // MARK: Up

    private mutating func tree(of name: String, _ view: some StorageView) async throws -> UInt64? {
        var path: [String] = []
        var seen: Set<String> = []
        var current = name
        var result: UInt64?
        while seen.insert(current).inserted {
            if let answer = known[current] {
                result = answer
                break
            }
            path.append(current)
            if let number = try await rootNumber(of: current, view) {
                result = number
                break
            }
            if !isMoving, saves[current]?.save.held != nil || saves[current] == nil {
                result = memberships[current]?.share
                break
            }
            guard let parent = try await parent(of: current, view) else { break }
            current = parent
        }
        for name in path { known[name] = .some(result) }
        return result
    }

    /// Returns the share of which a record is the root after the batch.
    private mutating func rootNumber(of name: String, _ view: some StorageView) async throws -> UInt64? {
        if let begin = begun[name] { return begin.number }
        try await load([name], view)
        guard let record = held[name], !record.isTombstone, let share = record.share, plan.ended[share] == nil
        else { return nil }
        return memberships[name]?.share
    }

    private mutating func parent(of name: String, _ view: some StorageView) async throws -> String? {
        if let entry = saves[name] { return entry.save.parent }
        try await load([name], view)
        guard let record = held[name], !record.isTombstone else { return nil }
        return record.parent
    }

    private mutating func load(_ names: [String], _ view: some StorageView) async throws {
        let missing = names.filter { held[$0] == nil && known[$0] == nil && saves[$0] == nil }
        if missing.isEmpty { return }
        for case let record? in try await view.records(zone: zone.number, names: missing) { held[record.name] = record }
        let found = try await view.shareMemberships(zone: zone.number, recordNames: missing)
        for (name, membership) in zip(missing, found) { memberships[name] = membership }
    }

    /// Rule B-SHR-05: the root of a tree must not be in another tree.
    private mutating func checkOverlap(
        _ name: String, parent: String?, position: Int, _ view: some StorageView
    ) async throws {
        guard isMoving, let parent, let own = try await rootNumber(of: name, view) else { return }
        let above = try await tree(of: parent, view)
        if let above, above != own { failures[begun[name]?.position ?? position] = .alreadyShared }
    }

    // MARK: Down

    private mutating func moveChildren(of start: String, cause: Int?, _ view: some StorageView) async throws {
        let target = try await tree(of: start, view)
        var level = [start]
        while !level.isEmpty {
            var children: [String] = []
            for name in level {
                children += try await view.children(zone: zone.number, of: name)
                guard moves.count + children.count <= batch.limits.treeMovesMax else {
                    throw RequestFailure.treeTooLarge(batch.limits)
                }
            }
            // Those in the batch are placed by themselves.
            children.removeAll { saves[$0] != nil || deleted.contains($0) }
            level = []
            for chunk in stride(from: 0, to: children.count, by: 500) {
                let names = Array(children[chunk..<min(chunk + 500, children.count)])
                level += try await move(names, to: target, cause: cause, view)
            }
        }
    }

    /// Moves records that stay what they are into another tree; those whose children follow.
    private mutating func move(
        _ names: [String], to target: UInt64?, cause: Int?, _ view: some StorageView
    ) async throws -> [String] {
        let records = try await view.records(zone: zone.number, names: names)
        let found = try await view.shareMemberships(zone: zone.number, recordNames: names)
        var followed: [String] = []
        for case (let record?, let membership) in zip(records, found) where !record.isTombstone {
            memberships[record.name] = membership
            if begun[record.name] != nil || record.share.map({ plan.ended[$0] == nil }) ?? false {
                // The root of another tree.
                if target != nil, let cause { failures[begun[record.name]?.position ?? cause] = .alreadyShared }
                continue
            }
            if membership?.share == target { continue }
            known[record.name] = .some(target)
            moves.append(move(record, to: target))
            followed.append(record.name)
        }
        return followed
    }

    private func move(_ record: StoredRecord, to target: UInt64?) -> PlannedShareChanges.Move {
        PlannedShareChanges.Move(
            name: record.name, recordType: record.recordType, size: record.storedBytes,
            from: memberships[record.name], to: target, keyEpoch: record.protection?.epoch)
    }
}

extension RequestFailure {
    static func treeTooLarge(_ limits: Limits) -> RequestFailure {
        RequestFailure(
            .sizeLimitExceeded, "more than \(limits.treeMovesMax) records would enter or leave a share at once",
            remedy: "Share the zone, or smaller parts of it.")
    }
}
