import CloudKitModel
import CloudKitRecordLayer

extension CompactFeeds {
    /// Deletes the records of old leavings of share trees; members' tokens from before that expire.
    func forgetLeavings(
        before cutoff: Int64, in zone: ZoneHeader, _ partition: StoragePartition
    ) async throws -> Int {
        var forgotten = 0
        var cursor: ShareLeavingCursor?
        while true {
            let read = try await cloud.store.read(partition) { [cursor] view in
                try await view.shareLeavings(zone: zone.number, after: cursor, limit: Self.entriesAtOnce)
            }
            let old = read.filter { $0.leaving.timestamp < cutoff }
            if !old.isEmpty {
                forgotten += try await cloud.store.write(partition) { transaction in
                    guard var zone = try await transaction.current(zone) else { return 0 }
                    var count = 0
                    for (record, leaving) in old {
                        // It may have come back meanwhile, and left again.
                        let held = try await transaction.shareLeavings(
                            zone: zone.number, share: record.share, recordNames: [record.recordName])[0]
                        guard held == leaving else { continue }
                        transaction.forget(leaving, of: record, zone: zone.number)
                        zone.memberHorizon = max(zone.memberHorizon, leaving.version)
                        count += 1
                    }
                    transaction.set(zone)
                    return count
                }
            }
            if read.count < Self.entriesAtOnce { return forgotten }
            cursor = read.last?.cursor
        }
    }

    /// Deletes the records of old losses of members who keep other shares of a zone, and of losses without a remaining member.
    func forgetLosses(
        before cutoff: Int64, in zone: ZoneHeader, _ partition: StoragePartition
    ) async throws -> Int {
        let (versions, members) = try await cloud.store.read(partition) { view in
            (
                try await view.shareLossVersions(zone: zone.number),
                try await view.shareMembers(zone: zone.number).filter { !$0.losses.isEmpty }
            )
        }
        let kept = Set(members.flatMap(\.losses).filter { $0.timestamp >= cutoff }.map(\.version))
        let old = versions.filter { !kept.contains($0) }
        if old.isEmpty { return 0 }
        return try await cloud.store.write(partition) { transaction in
            guard var zone = try await transaction.current(zone) else { return 0 }
            for member in members {
                guard var held = try await transaction.shareMember(zone: zone.number, user: member.user) else {
                    continue
                }
                held.losses.removeAll { old.contains($0.version) }
                transaction.set(held, zone: zone.number)
            }
            for version in old {
                transaction.clearShareLosses(zone: zone.number, at: version)
                zone.memberHorizon = max(zone.memberHorizon, version)
            }
            transaction.set(zone)
            return old.count
        }
    }
}

extension StorageView {
    /// Returns the versions at which members of a zone lost records, oldest first.
    fileprivate func shareLossVersions(zone: UInt32) async throws -> [UInt64] {
        var versions: [UInt64] = []
        while let next = try await shareLossVersion(zone: zone, after: versions.last ?? 0) { versions.append(next) }
        return versions
    }
}
