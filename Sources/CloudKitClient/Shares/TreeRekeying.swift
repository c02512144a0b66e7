import CloudKitEncryption
import CloudKitModel

/// Decides which records of a tree have to be sealed again before it is shared, so that a participant who opens its
/// root opens all of it.
///
/// A record is wrapped under the key that its parent has in the epoch of the save, also where the parent was last
/// written in an earlier one. The owner derives that key; participants reach it only if the parent's protection leads
/// there. None of this is needed in a zone that is still in its first epoch.
struct TreeRekeying {
    /// The names of those records, without the root: the share's own save seals that.
    private(set) var stale: Set<String> = []
    private let root: String
    private let epoch: UInt32
    private var nodes: [String: Node] = [:]

    private struct Node {
        var parent: String?
        var protection: RecordProtection?

        /// The epochs in which the record's key is within reach of who has its present one.
        var within: Set<UInt32> {
            guard let protection else { return [] }
            var epochs: Set = [protection.epoch]
            for case .present(let earlier) in protection.wraps.map(\.opener) { epochs.insert(earlier) }
            return epochs
        }

        /// The same once the record is sealed in this epoch.
        func within(sealedIn epoch: UInt32) -> Set<UInt32> {
            guard let protection else { return [epoch] }
            return within.union(ZoneKeys.kept(since: protection.epoch, in: epoch)).union([epoch])
        }

        /// In which of its parent's epochs the record is wrapped under it; nil: not at all.
        var wrapEpoch: UInt32? {
            for case .parent(let name, let epoch)? in protection?.wraps.map({ Optional($0.opener) }) ?? []
            where name == parent { return epoch }
            return nil
        }
    }

    /// - Parameters:
    ///   - records: All records of the zone; their fields are of no interest.
    ///   - epoch: The zone's key epoch.
    init(root: String, records: [Record], epoch: UInt32) {
        self.root = root
        self.epoch = epoch
        for record in records where record.sharing == nil {
            nodes[record.id.recordName] = Node(
                parent: record.parent, protection: record.protection.flatMap { try? RecordProtection($0) })
        }
        var children: [String: [String]] = [:]
        for (name, node) in nodes { if let parent = node.parent { children[parent, default: []].append(name) } }
        var level = [root]
        var seen: Set = [root]
        while !level.isEmpty {
            var next: [String] = []
            for parent in level {
                for child in children[parent] ?? [] where seen.insert(child).inserted {
                    next.append(child)
                    check(child, below: parent, hasChildren: children[child] != nil)
                }
            }
            level = next
        }
    }

    private mutating func check(_ name: String, below parentName: String, hasChildren: Bool) {
        guard let node = nodes[name], let parent = nodes[parentName] else { return }
        // Nothing is sealed in it, or below it.
        if node.protection == nil, !hasChildren { return }
        let sealed = parent.within(sealedIn: epoch)
        let within = parentName == root ? sealed : parent.within
        switch node.wrapEpoch {
        case let wrapped? where within.contains(wrapped): break
        case let wrapped? where sealed.contains(wrapped): rekey(parentName)
        default: rekey(name)
        }
    }

    /// A record sealed in this epoch is wrapped under keys that its parents have in it as well.
    private mutating func rekey(_ name: String) {
        var current: String? = name
        while let place = current, place != root, let node = nodes[place] {
            if place != name, node.protection?.epoch == epoch { return }
            guard stale.insert(place).inserted else { return }
            current = node.parent
        }
    }
}

extension DatabaseRequests {
    /// Seals the records again that connect records about to enter a share's tree with those below them.
    ///
    /// Apps move records more often than they share trees: in a zone with more than a small number of records the
    /// records below are not scanned.
    ///
    /// - Returns: The keys, in the zone's current epoch.
    func rekey(treesMovedBy batch: ModifyPlan.Batch, _ known: ZoneKeys) async throws -> ZoneKeys {
        let moved = batch.moved
        guard !moved.isEmpty else { return known }
        let zone = batch.zoneID
        let placed = try await placed(known, batch)
        let roots = batch.entering(placed.trees, of: moved)
        guard !roots.isEmpty, !connection.keys.exceedsScanLimit(placed.place) else { return placed }
        let keys = try await newestKeys(of: zone)
        let isRekeyed = try await rekey(
            treesOf: roots, in: zone, sparing: batch.savedNames, keys, recordsMax: Self.rekeyScanMax)
        if !isRekeyed { connection.keys.noteExceedsScanLimit(placed.place) }
        return try await zoneKeys(zone)
    }

    /// The maximum number of records in a zone whose records below a moved one are scanned.
    private static var rekeyScanMax: Int { 2000 }

    /// Seals the records again that connect the roots of trees about to be shared with the records below; a record that
    /// cannot be sealed is left as it is.
    ///
    /// - Parameter recordsMax: Nothing is done in a zone with more records.
    /// - Returns: false: the zone has more.
    @discardableResult
    func rekey(
        treesOf roots: Set<String>, in zone: ZoneID, sparing saved: Set<String>, _ keys: ZoneKeys,
        recordsMax: Int = .max
    ) async throws -> Bool {
        guard keys.isOwn, keys.epoch > 0, !roots.isEmpty else { return true }
        guard let records = try await allRecords(in: zone, max: recordsMax) else { return false }
        let stale = roots.reduce(into: Set<String>()) { names, root in
            names.formUnion(TreeRekeying(root: root, records: records, epoch: keys.epoch).stale)
        }
        let rekeyed = records.filter { stale.contains($0.id.recordName) && !saved.contains($0.id.recordName) }
        for start in stride(from: 0, to: rekeyed.count, by: RequestLimits.itemsMax) {
            let part = rekeyed[start..<min(start + RequestLimits.itemsMax, rekeyed.count)]
            let items = part.map { record in
                ModifyPlan.Item(
                    id: record.id, operation: record.update(),
                    secrets: RecordSecrets(
                        fields: [], recordType: record.recordType, parent: record.parent, share: record.share,
                        isMoved: true, held: record.protection, isHeldChecked: false, created: record.created))
            }
            let batch = ModifyPlan.Batch(zoneID: zone, wantsAtomic: false, items: items)
            _ = try await sealAndSend(batch, rekeysTrees: false)
        }
        return true
    }

    /// Every record of a zone, without its fields; nil: there are more than `max`.
    private func allRecords(in zone: ZoneID, max: Int) async throws -> [Record]? {
        try await readingAgain { try await recordsOfFeed(of: zone, max: max) }
    }

    private func recordsOfFeed(of zone: ZoneID, max: Int) async throws -> [Record]? {
        var records: [String: Record] = [:]
        var token: String?
        while true {
            let page = try await zonePage(ZoneChangesRequest(zoneID: zone, syncToken: token, desiredKeys: []))
            for event in page.events {
                switch event {
                case .changed(let record): records[record.id.recordName] = record
                case .deleted(let tombstone): records[tombstone.recordName] = nil
                }
            }
            if records.count > max { return nil }
            guard page.moreComing, page.syncToken != token else { return Array(records.values) }
            token = page.syncToken
        }
    }
}
