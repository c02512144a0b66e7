import CloudKitModel
import CloudKitRecordLayer

/// The part of a zone that one caller can access: all of it for its owner, the accepted shares for a member.
struct CallerAccess: Sendable {
    let zone: ZoneHeader
    /// nil: the caller is the owner, or the database is public.
    let member: ShareMember?

    /// Determines the caller's access to a zone.
    ///
    /// - Throws: The failures of `ZoneAccess.live`; for a non-member, or a zone that is not live, always `zoneNotFound`.
    init(_ zone: ZoneHeader?, in place: DatabaseContext, _ view: some StorageView) async throws {
        guard let user = place.member else {
            self.zone = try ZoneAccess.live(zone)
            member = nil
            return
        }
        guard let zone, zone.state == .live,
            let member = try await view.shareMember(zone: zone.number, user: user), !member.slots.isEmpty
        else { throw RequestFailure.zoneNotFound }
        self.zone = zone
        self.member = member
    }

    var isOwner: Bool { member == nil }

    /// Returns the caller's standing in a share of the zone; nil: records that belong to none.
    func standing(in share: UInt64?) -> ShareAccessLevel {
        guard let member else { return .owner }
        return ShareAccessLevel(slot: (zone.sharing.wholeShare ?? share).flatMap(member.slot))
    }

    /// A flag for callers who may write to any record of the zone.
    var canWrite: Bool {
        guard let member else { return true }
        return member.slots.contains { slot in
            let standing = ShareAccessLevel(slot: slot)
            return standing == .readWrite || standing == .administrator
        }
    }

    /// Returns the records under `names` that the caller may see, tombstones included, in the requested order.
    func records(_ names: [String], _ view: some StorageView) async throws -> [StoredRecord?] {
        let visible = try await visible(names, view)
        return try await view.records(zone: zone.number, names: names).map { record in
            record.flatMap { visible.contains($0.name) ? $0 : nil }
        }
    }

    /// Returns the names of the records that the caller may see.
    func visible(_ names: [String], _ view: some StorageView) async throws -> Set<String> {
        guard let member else { return Set(names) }
        if zone.sharing.wholeShare.flatMap(member.slot) != nil { return Set(names) }
        let memberships = try await view.shareMemberships(zone: zone.number, recordNames: names)
        var visible: Set<String> = []
        for (name, membership) in zip(names, memberships) {
            if standing(in: membership?.share) != .none { visible.insert(name) }
        }
        return visible
    }
}
