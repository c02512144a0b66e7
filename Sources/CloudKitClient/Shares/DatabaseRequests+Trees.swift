import CloudKitEncryption
import CloudKitModel

/// Finds the share whose tree each saved record belongs to, and makes the first keys of new shares.
extension DatabaseRequests {
    /// The batch with the first keys of the shares that it begins.
    ///
    /// - Parameter keys: Of the epoch that the zone has now; gets those keys.
    func begun(_ batch: ModifyPlan.Batch, _ keys: inout ZoneKeys) throws -> ModifyPlan.Batch {
        guard keys.isOwn, batch.savesShares else { return batch }
        var batch = batch
        for index in batch.items.indices where batch.items[index].operation.beginsShare {
            let change = batch.items[index].operation.change
            let share = RecordAddress(zone: keys.place, name: batch.items[index].id.recordName)
            // Above every epoch that an earlier share of this name had.
            let key = keys.access.root.shareKey(of: share, epoch: keys.epoch + 1)
            let permission = change.share?.publicPermission ?? .none
            let making = ShareKeyMaker(access: keys.access, key: key, isKnown: { _, _ in false }, authority: nil)
            let zone = keys.place
            let statement = ShareStatement(of: share, root: change.share?.root?.recordName)
                .applying(change.share ?? ShareChange(), to: nil) {
                    self.connection.keys.pinnedIdentity(of: $0, in: zone)
                }
            let zoneKeys = change.share?.root == nil ? keys.ownZoneKeys(upTo: keys.epoch) : []
            batch.items[index].operation.change.share = change.share ?? ShareChange()
            batch.items[index].operation.change.share?.keys = try making.first(
                isOpen: permission.canRead, root: statement.root, zoneKeys: zoneKeys)
            // The cloud refuses a share with more.
            if statement.participants.count <= ShareStatement.participantsMax {
                batch.items[index].operation.change.share?.keys?.statement = try making.stating(statement, after: 0)
            }
            keys.shared.add(key)
        }
        connection.keys.keep(keys)
        return batch
    }

    /// Returns the keys with everything that sealing a batch needs: the trees of its records, the keys of their shares
    /// and of their parents.
    ///
    /// In a zone of the user's own nothing is fetched when no record of the batch has a parent or is shared. Shares
    /// that are fetched get the key maintenance they need from this device, so that nothing is sealed for users who
    /// were removed.
    func placed(_ known: ZoneKeys, _ batch: ModifyPlan.Batch) async throws -> ZoneKeys {
        let zone = batch.zoneID
        var keys = known
        let hasTrees =
            batch.savesShares || batch.secrets.contains { $0.parent != nil || $0.share != nil }
        guard !keys.isOwn || hasTrees, !zone.isDefaultZone else { return keys }
        let now = connection.cloud.clientEnvironment.now()
        let isFresh = connection.keys.hasTreeCheck(of: keys.place, epoch: keys.epoch, now: now)
        if !isFresh { keys.shared.forgetStandings() }
        let begun = batch.begunShares
        keys.isShared = true
        try await loadAncestors(batch, in: zone, &keys)
        (keys.trees, keys.roots) = batch.trees(keys.shared.standings, begun)
        let shares = Set(keys.trees.values).subtracting(begun.values).filter {
            !isFresh || keys.shared.newestKey(of: $0) == nil
        }
        if !shares.isEmpty {
            let found = await maintained(try await looked(at: shares.sorted(), in: zone, desiredKeys: []))
            await take(found, in: zone, into: &keys)
            // Participants of a share that has ended still have its key.
            for name in shares.subtracting(found.map(\.id.recordName)) { keys.shared.learnAbsence(of: name) }
        }
        // Of a share that this device could not read, users may have been removed: nothing is sealed under the keys that they have.
        for share in Set(keys.trees.values).union([Share.zoneWideName]).sorted() {
            if let failure = keys.shared.unreadable(share) { throw failure }
        }
        // Parents whose keys members made open through their own parents, or through shares.
        let made = batch.secrets.compactMap(\.parent).filter { keys.shared.protections[$0]?.origin == .made }
        if !made.isEmpty {
            keys.shared = await completed(
                keys, toOpen: try await looked(at: Set(made).sorted(), in: zone, desiredKeys: []), in: zone
            ).shared
        }
        keys.isShared = !keys.isOwn || !keys.trees.isEmpty || keys.shared.newest[Share.zoneWideName] != nil
        connection.keys.keep(known.taking(shared: keys.shared))
        connection.keys.noteTreeCheck(of: keys.place, epoch: keys.epoch, now: now)
        return keys
    }

    /// Looks at the records above those of a batch, up to their roots, and whether the zone is shared as a whole.
    private func loadAncestors(_ batch: ModifyPlan.Batch, in zone: ZoneID, _ keys: inout ZoneKeys) async throws {
        let names = Set(batch.items.lazy.filter { $0.secrets != nil }.map(\.id.recordName))
        var frontier = Set(batch.secrets.compactMap(\.parent)).subtracting(names)
        frontier.insert(Share.zoneWideName)
        for _ in 0..<TreeKeys.depthMax {
            let unknown = frontier.filter { keys.shared.standings[$0] == nil }.sorted().prefix(RequestLimits.itemsMax)
            if !unknown.isEmpty {
                let found = await maintained(try await looked(at: unknown, in: zone, desiredKeys: []))
                await take(found, in: zone, into: &keys)
                for name in unknown where keys.shared.standings[name] == nil { keys.shared.learnAbsence(of: name) }
            }
            frontier = Set(
                frontier.compactMap { name in
                    let standing = keys.shared.standings[name]
                    return standing?.share == nil ? standing?.parent : nil
                }
            ).subtracting(names)
            if frontier.isEmpty { return }
        }
    }
}

extension ZoneKeys {
    fileprivate func taking(shared: SharedKeys) -> ZoneKeys {
        var keys = self
        keys.shared = shared
        return keys
    }
}

extension ModifyPlan.Batch {
    /// A Boolean value that indicates whether shares are saved for the first time.
    var beginsShares: Bool { items.contains(where: \.operation.beginsShare) }

    /// The values to seal, in the order of the items that have some.
    var secrets: some Sequence<RecordSecrets> { items.lazy.compactMap(\.secrets) }

    /// A Boolean value that indicates whether some items have values to seal.
    var hasSecrets: Bool { items.contains { $0.secrets != nil } }

    /// A Boolean value that indicates whether shares are saved or deleted.
    var savesShares: Bool { items.contains { $0.operation.change.recordType == Validity.shareRecordType } }

    /// The positions of records that the cloud has and that get another parent.
    var moved: [Int] {
        items.enumerated().compactMap { index, item in
            guard let secrets = item.secrets else { return nil }
            let isHeld = item.operation.change.changeTag != nil || secrets.held != nil
            return secrets.isMoved && secrets.parent != nil && isHeld ? index : nil
        }
    }

    /// Returns the names of the records at some positions that enter the trees of existing shares.
    ///
    /// - Parameter trees: The share whose tree each record will belong to.
    func entering(_ trees: [String: String], of moved: [Int]) -> Set<String> {
        let begun = Set(begunShares.values)
        return Set(
            moved.compactMap { index in
                let name = items[index].id.recordName
                guard let share = trees[name], !begun.contains(share) else { return nil }
                let held = items[index].secrets?.held.flatMap { try? RecordProtection($0) }
                for case .share(let known, _) in (held?.wraps ?? []).map(\.opener) where known == share { return nil }
                return name
            })
    }

    /// The records that it saves.
    var savedNames: Set<String> {
        Set(items.lazy.filter { !$0.isDeletion }.map(\.id.recordName))
    }

    /// The shares that begin, by their roots.
    var begunShares: [String: String] {
        var shares: [String: String] = [:]
        for item in items where item.operation.beginsShare {
            if let root = item.operation.change.share?.root { shares[root.recordName] = item.id.recordName }
        }
        return shares
    }

    /// Returns the share whose tree each record to be sealed belongs to, and the root of each share that was found.
    fileprivate func trees(
        _ standings: [String: SharedKeys.Standing], _ begun: [String: String]
    ) -> (trees: [String: String], roots: [String: String]) {
        var own: [String: RecordSecrets] = [:]
        for item in items where item.secrets != nil { own[item.id.recordName] = item.secrets }
        var trees: [String: String] = [:]
        var roots: [String: String] = [:]
        for name in own.keys {
            var place: String? = name
            for _ in 0...TreeKeys.depthMax {
                guard let current = place else { break }
                if let share = begun[current] ?? own[current]?.share ?? standings[current]?.share {
                    trees[name] = share
                    roots[share] = current
                    break
                }
                place = own[current].map(\.parent) ?? standings[current]?.parent
            }
        }
        return (trees, roots)
    }
}

extension RecordOperation {
    /// A Boolean value that indicates whether a share is saved for the first time.
    var beginsShare: Bool {
        change.recordType == Validity.shareRecordType && change.changeTag == nil && kind != .forceDelete
            && kind != .delete
    }
}
