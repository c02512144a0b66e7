import CloudKitModel
import CloudKitRecordLayer

/// How far one caller reaches into one zone: everything for its owner, what was accepted for a member.
struct ShareReach: Sendable {
    let zone: ZoneHeader
    /// nil: the caller is the owner, or the database is public.
    let member: ShareMember?

    /// The zone and the caller's reach into it.
    ///
    /// - Throws: What a zone may be; for a member who is none, or whose zone is not alive, `zoneNotFound`, whatever it is.
    init(_ zone: ZoneHeader?, in place: DatabasePlace, _ view: some StorageView) async throws {
        guard let user = place.member else {
            self.zone = try ZoneAccess.live(zone)
            member = nil
            return
        }
        guard let zone, zone.state == .live,
            let member = try await view.shareMember(zone: zone.number, user: user), !member.seats.isEmpty
        else { throw RequestFailure.zoneNotFound }
        self.zone = zone
        self.member = member
    }

    var isOwner: Bool { member == nil }

    /// The caller's standing in a share of the zone; nil: what belongs to none.
    func standing(in share: UInt64?) -> ShareStanding {
        guard let member else { return .owner }
        return ShareStanding(seat: (zone.sharing.wholeShare ?? share).flatMap(member.seat))
    }

    /// Whether there is anything in the zone that the caller may write to.
    var canWrite: Bool {
        guard let member else { return true }
        return member.seats.contains { seat in
            let standing = ShareStanding(seat: seat)
            return standing == .readWrite || standing == .administrator
        }
    }

    /// The records under `names` as far as the caller may see them, tombstones included, in the order asked for.
    func records(_ names: [String], _ view: some StorageView) async throws -> [StoredRecord?] {
        let visible = try await visible(names, view)
        return try await view.records(zone: zone.number, names: names).map { record in
            record.flatMap { visible.contains($0.name) ? $0 : nil }
        }
    }

    /// Which of the records the caller may see.
    func visible(_ names: [String], _ view: some StorageView) async throws -> Set<String> {
        guard let member else { return Set(names) }
        if zone.sharing.wholeShare.flatMap(member.seat) != nil { return Set(names) }
        let memberships = try await view.shareMemberships(zone: zone.number, recordNames: names)
        var visible: Set<String> = []
        for (name, membership) in zip(names, memberships) {
            if standing(in: membership?.share) != .none { visible.insert(name) }
        }
        return visible
    }
}
