import CloudKitModel
import CloudKitRecordLayer

/// The shared database of one user: no records of its own, a view of zones of others (B-DB-10).
///
/// The user's own partition lists the zones; their owners' partitions hold their changes and whether they can still be
/// reached. Changes found are noted in the user's own feed before it is read, so that its tokens are those of one feed.
struct SharedDatabase: Sendable {
    let store: Storage
    let place: DatabaseContext
    let user: UserID
    let now: Int64

    init(_ cloud: Cloud, in place: DatabaseContext) throws(RequestFailure) {
        guard let user = place.caller.user else { throw .notSignedIn }
        store = cloud.store
        self.place = place
        self.user = user
        now = cloud.serverEnvironment.now()
    }

    /// A zone that the user can reach now.
    struct Reached: Sendable {
        var joined: JoinedZone
        var place: DatabaseContext
        var zone: ZoneHeader
        var member: ShareMember
        /// The newest version that the user sees there.
        var newest: UInt64
        /// The version of the owner's whole database.
        var databaseVersion: UInt64
    }

    /// The present state of a zone that the user had joined.
    enum Finding: Sendable {
        case reached(Reached)
        case gone(ZoneDeletionReason)
    }

    /// Reads the state of zones in their owners' partitions.
    func findings(_ zones: [JoinedZone]) async throws -> [(joined: JoinedZone, finding: Finding)] {
        var findings: [(joined: JoinedZone, finding: Finding)] = []
        for joined in zones {
            let place = try place.reaching(ZoneID(zoneName: joined.zoneName, owner: joined.owner))
            let finding = try await store.read(place.partition) { view in
                try await Self.finding(joined, user: user, place: place, view)
            }
            findings.append((joined, finding))
        }
        return findings
    }

    private static func finding(
        _ joined: JoinedZone, user: UserID, place: DatabaseContext, _ view: StorageReader
    ) async throws -> Finding {
        let headers = try await view.headers(zoneNamed: joined.zoneName)
        guard let zone = headers.zone, zone.number == joined.zone else { return .gone(.deleted) }
        if let reason = zone.state.deletionReason { return .gone(reason) }
        guard let member = try await view.shareMember(zone: zone.number, user: user), !member.slots.isEmpty else {
            return .gone(.deleted)
        }
        return .reached(
            Reached(
                joined: joined, place: place, zone: zone, member: member,
                newest: try await view.newestVersion(for: member, in: zone),
                databaseVersion: headers.database.version))
    }

    /// Returns the zones that can be reached now, in the order of owners and names (B-ZN-13).
    func zones() async throws -> [Reached] {
        let joined = try await store.read(place.partition) { try await $0.joinedZones() }
        return try await findings(joined.filter { $0.gone == nil }).compactMap {
            if case .reached(let reached) = $0.finding { reached } else { nil }
        }
    }

    /// Notes the changes of the joined zones in the user's feed.
    func catchUp() async throws {
        let joined = try await store.read(place.partition) { try await $0.joinedZones() }
        let sharedUpdate = try await findings(joined.filter { $0.gone == nil }).filter { joined, finding in
            switch finding {
            case .reached(let reached): reached.newest > joined.noted
            case .gone: true
            }
        }
        if sharedUpdate.isEmpty { return }
        let partition = place.partition
        let now = now
        try await store.write(partition) { transaction in
            var header = try await transaction.joinedHeader(in: partition)
            for (seen, finding) in sharedUpdate {
                // Accepted again meanwhile, or noted by another request: look again next time.
                guard var zone = try await transaction.joinedZone(seen.owner, seen.zoneName, in: partition),
                    zone.feedVersion == seen.feedVersion
                else { continue }
                switch finding {
                case .reached(let reached): zone.noted = max(zone.noted, reached.newest)
                case .gone(let reason):
                    zone.gone = reason
                    zone.goneSince = now
                }
                try transaction.move(&zone, &header, in: partition)
            }
        }
    }
}

extension ZoneHeader {
    /// The record name of the zone's zone-wide share (B-ZN-15).
    var zoneWideShare: String? { sharing.wholeShare == nil ? nil : Share.zoneWideName }
}

extension SharedDatabase.Reached {
    /// Returns the zone as answers contain it.
    func zone(sealedBy tokens: SyncTokenSeal) -> Zone {
        let token = SyncToken(.member, zone: zone.number, version: databaseVersion)
        return Zone(
            id: place.zoneID(zone.name), capabilities: .custom(zone.encryptionScope),
            encryptionScope: zone.encryptionScope, syncToken: tokens.seal(token, for: place.tokenPartition),
            keyEpoch: zone.keyEpoch, share: zone.zoneWideShare)
    }
}
