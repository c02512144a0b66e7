import CloudKitModel
import CloudKitRecordLayer

extension ChangeWriter {
    /// Follows a change of the zone's feed in the feeds of trees.
    mutating func moveInTrees(_ entry: FeedEntry, shares: SharePlanner, _ transaction: inout StorageWriter) {
        let plan = shares.plan
        let before = shares.memberships[entry.recordName]
        let after = entry.isTombstone ? nil : plan.after[entry.recordName] ?? shares.unplanned(entry.recordName)
        moveInTrees(entry, from: before, to: after, shares: shares, &transaction)
    }

    /// Moves a record from tree to tree, or within one, with an entry that has a version of its own.
    private mutating func moveInTrees(
        _ entry: FeedEntry, from before: ShareMembership?, to after: UInt64?, shares: SharePlanner,
        _ transaction: inout StorageWriter
    ) {
        if let before, before.share != after {
            if shares.plan.endedNumbers.contains(before.share) {
                transaction.clearShareMembership(zone: zone.number, recordName: entry.recordName)
            } else {
                sharedChange.note(entry.recordType, in: before.share)
                transaction.leaveShareFeed(
                    entry.recordName, recordType: entry.recordType, zone: zone.number, from: before,
                    version: entry.version, now: batch.now)
            }
        }
        guard let after else { return }
        sharedChange.note(entry.recordType, in: after)
        transaction.moveInShareFeed(
            entry, zone: zone.number, share: after, previous: before, leaving: shares.plan.leavings[entry.recordName])
    }

    /// Writes the changes of shares that a batch decided, after its records.
    mutating func write(
        _ plan: PlannedShareChanges, of shares: SharePlanner, _ transaction: inout StorageWriter
    ) async throws {
        for move in plan.moves {
            let entry = FeedEntry(
                version: nextVersion(), recordName: move.name, recordType: move.recordType, isTombstone: false,
                size: move.size)
            moveInTrees(entry, from: move.from, to: move.to, shares: shares, &transaction)
        }
        if plan.beginsKeyEpoch { zone.beginKeyEpoch() }
        for share in plan.ended.values.sorted(by: { $0.number < $1.number }) { try await end(share, &transaction) }
        for (name, decision) in plan.decisions.sorted(by: { $0.value.share.number < $1.value.share.number }) {
            let before = plan.begun.contains(name) ? nil : shares.shares[name]
            if before == nil { try await begin(decision.share, &transaction) }
            try await store(decision, before: before, &transaction)
        }
        for name in plan.left.sorted() {
            guard let share = shares.shares[name], let user = batch.place.caller.user else { continue }
            try await leave(share, user: user, &transaction)
        }
    }

    // MARK: One share

    private mutating func begin(_ share: StoredShare, _ transaction: inout StorageWriter) async throws {
        zone.sharing = share.root == nil ? .whole(share.number) : zone.sharing.adding(trees: 1)
        guard let rootName = share.root else { return }
        let root = try await transaction.records(zone: zone.number, names: [rootName])[0]
        guard let root, !root.isTombstone, root.share != share.name else { return }
        try rewrite(root, &transaction) { record in
            record.share = share.name
            record.shortGUID = share.shortGUID
        }
    }

    /// Stores a decided share; members, links and keys follow.
    private mutating func store(
        _ decision: ShareDecision, before: StoredShare?, _ transaction: inout StorageWriter
    ) async throws {
        let share = decision.share
        transaction.set(share, zone: zone.number)
        try await writeMembers(before, after: share, &transaction)
        writeKeys(of: decision, &transaction)
        if before == nil { try transaction.set(place(of: share, nil), shortGUID: share.shortGUID) }
        for (guid, id) in decision.links { try transaction.set(place(of: share, id), shortGUID: guid) }
    }

    private mutating func writeKeys(of decision: ShareDecision, _ transaction: inout StorageWriter) {
        for (name, bytes) in decision.keys { transaction.set(name, zone: zone.number, to: bytes) }
        if decision.beginsZoneEpoch { zone.beginKeyEpoch() }
    }

    private func place(of share: StoredShare, _ participantID: String?) -> ShareLocation {
        ShareLocation(
            container: batch.place.address.container, environment: batch.place.address.environment,
            owner: batch.place.owner, zoneName: zone.name, zone: zone.number, root: share.root,
            participantID: participantID)
    }

    /// Stores keys of a share, so that the feed of every member reports it.
    mutating func storeKeys(
        _ decision: ShareDecision, before: StoredShare, _ transaction: inout StorageWriter
    ) async throws {
        writeKeys(of: decision, &transaction)
        try await change(decision.share, before: before, &transaction)
    }

    /// Stores a changed share whose record is not in the batch, so that the feed of every member reports it.
    mutating func change(
        _ share: StoredShare, before: StoredShare, _ transaction: inout StorageWriter
    ) async throws {
        transaction.set(share, zone: zone.number)
        if let record = try await transaction.records(zone: zone.number, names: [share.name])[0], !record.isTombstone {
            try rewrite(record, &transaction) { _ in }
        }
        try await writeMembers(before, after: share, &transaction)
    }

    /// Takes a user out of a share, at the user's own wish (B-ACP-06).
    mutating func leave(_ share: StoredShare, user: UserID, _ transaction: inout StorageWriter) async throws {
        var after = share
        after.participants.removeAll { $0.user == user }
        if share.keyEpoch > 0, let gone = share.participant(of: user),
            gone.keyEpoch == share.keyEpoch || gone.grantEpoch > 0
        {
            after.needsNewEpoch = true
        }
        try await change(after, before: share, &transaction)
    }

    /// Ends a share: all participants lose access, the records stay (B-ACP-08, B-ACP-09).
    private mutating func end(_ share: StoredShare, _ transaction: inout StorageWriter) async throws {
        try await writeMembers(share, after: nil, &transaction)
        transaction.clear(share, zone: zone.number)
        // Former participants keep the share's keys: later changes are sealed under others (B-TM-05).
        if share.keyEpoch > 0 { zone.beginKeyEpoch() }
        zone.sharing = share.root == nil ? .none : zone.sharing.adding(trees: -1)
        let names = [share.name] + (share.root.map { [$0] } ?? [])
        let records = try await transaction.records(zone: zone.number, names: names)
        if let record = records[0], !record.isTombstone { try write(PlannedDeletion(record), &transaction) }
        guard records.count > 1, let root = records[1], !root.isTombstone, root.share == share.name else { return }
        try rewrite(root, &transaction) { $0.share = nil }
    }

    // MARK: Members

    /// Stores the members that differ between two states of a share.
    private mutating func writeMembers(
        _ before: StoredShare?, after: StoredShare?, _ transaction: inout StorageWriter
    ) async throws {
        let old = before?.slots ?? [:]
        let new = after?.slots ?? [:]
        let users = Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }
        if users.isEmpty { return }
        sharedChange.users.formUnion(users)
        let version = nextVersion()
        var isLossRecorded = false
        for user in users.sorted(by: { $0.recordName < $1.recordName }) {
            var member =
                try await transaction.shareMember(zone: zone.number, user: user)
                ?? ShareMember(user: user, since: version)
            if let share = after, let rights = new[user] {
                member.take(share, rights: rights, version: version)
            } else if let share = before {
                member.slots.removeAll { $0.share == share.number }
                if member.slots.isEmpty {
                    transaction.clear(member, zone: zone.number)
                    continue
                }
                if !isLossRecorded { try await recordLoss(of: share, at: version, &transaction) }
                isLossRecorded = true
                member.losses.append(ShareMember.Loss(version: version, timestamp: batch.now))
            }
            transaction.set(member, zone: zone.number)
        }
    }

    /// Records the contents of a share for members who lose it and keep others: their feed reports the loss (B-SHF-05).
    private mutating func recordLoss(
        of share: StoredShare, at version: UInt64, _ transaction: inout StorageWriter
    ) async throws {
        let entries = try await transaction.shareFeed(zone: zone.number, share: share.number, after: 0, limit: .max)
        for (index, entry) in entries.enumerated() {
            let loss = ShareLoss(
                position: UInt64(index + 1), recordName: entry.recordName, recordType: entry.recordType)
            transaction.set(loss, zone: zone.number, at: version)
        }
    }
}

/// The rights of a participant.
struct ParticipantRights: Hashable {
    var role: ParticipantRole
    var permission: ParticipantPermission
}

extension StoredShare {
    /// The users who have accepted, with their rights.
    var slots: [UserID: ParticipantRights] {
        var slots: [UserID: ParticipantRights] = [:]
        for participant in participants where participant.acceptance == .accepted {
            guard let user = participant.user else { continue }
            let rights = ParticipantRights(role: participant.role, permission: permission(of: participant))
            if rights.permission.canRead { slots[user] = rights }
        }
        return slots
    }

    /// Returns the permission of a participant: for public users the public permission (B-PRT-02).
    func permission(of participant: StoredParticipant) -> ParticipantPermission {
        participant.role == .publicUser ? publicPermission : participant.permission
    }
}

extension ShareMember {
    fileprivate mutating func take(_ share: StoredShare, rights: ParticipantRights, version: UInt64) {
        if let index = slots.firstIndex(where: { $0.share == share.number }) {
            slots[index].role = rights.role
            slots[index].permission = rights.permission
            return
        }
        slots.append(
            Slot(
                share: share.number, shareName: share.name, root: share.root, joined: version, role: rights.role,
                permission: rights.permission))
    }
}
