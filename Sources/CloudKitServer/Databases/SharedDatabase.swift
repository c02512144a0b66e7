import CloudKitModel
import CloudKitRecordLayer

/// The shared database of one user: no records of its own, a view on zones of others (B-DB-10).
///
/// Which zones, the user's own partition remembers; whether they can still be reached and what is new in them, their
/// owners' partitions say. What is found to be new is noted in the user's own feed before it is read, so that its tokens
/// are those of one feed.
struct SharedDatabase: Sendable {
    let store: Storage
    let place: DatabasePlace
    let user: UserID
    let now: Int64

    init(_ cloud: Cloud, in place: DatabasePlace) throws(RequestFailure) {
        guard let user = place.caller.user else { throw .notSignedIn }
        store = cloud.store
        self.place = place
        self.user = user
        now = cloud.serverEnvironment.now()
    }

    /// A zone that the user can reach now.
    struct Reached: Sendable {
        var joined: JoinedZone
        var place: DatabasePlace
        var zone: ZoneHeader
        var member: ShareMember
        /// The newest version of what the user sees there.
        var newest: UInt64
        /// That of the owner's whole database.
        var databaseVersion: UInt64
    }

    /// What became of a zone that the user had joined.
    enum Finding: Sendable {
        case reached(Reached)
        case gone(ZoneDeletionReason)
    }

    /// Looks at zones where they lie.
    func findings(_ zones: [JoinedZone]) async throws -> [(joined: JoinedZone, finding: Finding)] {
        var findings: [(joined: JoinedZone, finding: Finding)] = []
        for joined in zones {
            let place = try place.reaching(ZoneID(zoneName: joined.zoneName, owner: joined.owner))
            let finding = try await store.read(place.partition) { view in
                try await Self.finding(joined, user, place, view)
            }
            findings.append((joined, finding))
        }
        return findings
    }

    private static func finding(
        _ joined: JoinedZone, _ user: UserID, _ place: DatabasePlace, _ view: StorageReader
    ) async throws -> Finding {
        let headers = try await view.headers(zoneNamed: joined.zoneName)
        guard let zone = headers.zone, zone.number == joined.zone else { return .gone(.deleted) }
        if let reason = zone.state.deletionReason { return .gone(reason) }
        guard let member = try await view.shareMember(zone: zone.number, user: user), !member.seats.isEmpty else {
            return .gone(.deleted)
        }
        return .reached(
            Reached(
                joined: joined, place: place, zone: zone, member: member,
                newest: try await view.newestVersion(for: member, in: zone),
                databaseVersion: headers.database.version))
    }

    /// Zones that can be reached now, in the order of owners and names (B-ZN-13).
    func zones() async throws -> [Reached] {
        let joined = try await store.read(place.partition) { try await $0.joinedZones() }
        return try await findings(joined.filter { $0.gone == nil }).compactMap {
            if case .reached(let reached) = $0.finding { reached } else { nil }
        }
    }

    /// Notes in the user's feed what is new in the zones joined.
    func catchUp() async throws {
        let joined = try await store.read(place.partition) { try await $0.joinedZones() }
        let news = try await findings(joined.filter { $0.gone == nil }).filter { joined, finding in
            switch finding {
            case .reached(let reached): reached.newest > joined.noted
            case .gone: true
            }
        }
        if news.isEmpty { return }
        let partition = place.partition
        let now = now
        try await store.write(partition) { transaction in
            var header = try await transaction.joinedHeader(in: partition)
            for (seen, finding) in news {
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

extension Cloud {
    /// What changed in the shared database since a token: zones that came, changed, and went (B-SHF-01, B-SHF-04).
    func sharedDatabaseChanges(
        _ request: DatabaseChangesRequest, in place: DatabasePlace
    ) async throws -> DatabaseChangesPage {
        let shared = try SharedDatabase(self, in: place)
        let feed = place.sharedFeed
        var token: SyncToken?
        if let text = request.syncToken, !text.isEmpty { token = try tokens.open(text, for: feed, kinds: [.database]) }
        try await shared.catchUp()
        let max = place.caller.surface.itemsMax
        let limit = request.resultsLimit.flatMap { $0 > 0 ? min($0, max) : nil } ?? max
        let isCaughtUp = request.syncToken == ""
        let (entries, position, isLast) = try await store.read(place.partition) { [token] view in
            let header = try await view.joinedHeader()
            var database = DatabaseHeader()
            database.version = header.version
            database.horizon = header.horizon
            let position = try DatabaseFeedPosition(token: token, isCaughtUp: isCaughtUp, header: database)
            // One more than fits tells whether there is more.
            let zones = try await view.joinedFeed(after: position.version, limit: limit + 1)
            return (Array(zones.prefix(limit)), position, zones.count <= limit)
        }
        var events: [ZoneChangeEvent] = []
        for zone in entries {
            let id = ZoneID(zoneName: zone.zoneName, owner: zone.owner)
            if let reason = zone.gone {
                if zone.feedVersion > position.baseline { events.append(.deleted(id, reason)) }
            } else {
                let token = SyncToken(.member, zone: zone.zone, version: zone.noted)
                let place = try place.reaching(id)
                events.append(.changed(id, syncToken: tokens.seal(token, for: place.tokenPartition)))
            }
        }
        let last = entries.last?.feedVersion ?? position.version
        let next = SyncToken(
            .database, version: isLast ? Swift.max(last, position.baseline) : last, baseline: position.baseline)
        return DatabaseChangesPage(events: events, syncToken: tokens.seal(next, for: feed), moreComing: !isLast)
    }

    /// The zones of others that the caller reaches.
    func listSharedZones(in place: DatabasePlace) async throws -> [Zone] {
        try await SharedDatabase(self, in: place).zones().map { sharedZone($0) }
    }

    private func sharedZone(_ reached: SharedDatabase.Reached) -> Zone {
        let token = SyncToken(.member, zone: reached.zone.number, version: reached.databaseVersion)
        return Zone(
            id: reached.place.zoneID(reached.zone.name), capabilities: .custom(reached.zone.encryptionScope),
            encryptionScope: reached.zone.encryptionScope,
            syncToken: tokens.seal(token, for: reached.place.tokenPartition), keyEpoch: reached.zone.keyEpoch,
            share: reached.zone.zoneWideShare)
    }

    /// Some of them, each found or not on its own.
    func lookupSharedZones(_ ids: [ZoneID], in place: DatabasePlace) async throws -> [ZoneOutcome] {
        let shared = try SharedDatabase(self, in: place)
        var outcomes: [ZoneOutcome] = []
        for id in ids {
            do {
                let place = try place.reaching(id)
                let number = try await store.read(place.partition) { view in
                    try await ShareReach(try await view.zone(named: id.zoneName), in: place, view).zone.number
                }
                let joined = JoinedZone(owner: id.owner, zoneName: id.zoneName, zone: number, noted: 0)
                guard case .reached(let reached)? = try await shared.findings([joined]).first?.finding else {
                    throw RequestFailure.zoneNotFound
                }
                outcomes.append(.zone(sharedZone(reached)))
            } catch let failure as RequestFailure {
                outcomes.append(.failed(id, failure))
            }
        }
        return outcomes
    }

    /// Deleting somebody else's zone is leaving all that is shared in it; creating one is refused (B-DB-12, B-ACP-06).
    func modifySharedZones(_ operations: [ZoneOperation], in place: DatabasePlace) async throws -> [ZoneOutcome] {
        let ids = operations.compactMap { if case .delete(let id) = $0 { id } else { nil } }
        guard ids.count == operations.count else { throw RequestFailure.onlySharedZones }
        var outcomes: [ZoneOutcome] = []
        for id in ids {
            do {
                let place = try place.reaching(id)
                try await leaveZone(id.zoneName, in: place)
                outcomes.append(.deleted(place.zoneID(id.zoneName)))
            } catch let failure as RequestFailure {
                outcomes.append(.failed(id, failure))
            }
        }
        return outcomes
    }

    private func leaveZone(_ name: String, in place: DatabasePlace) async throws {
        guard let user = place.member else { throw RequestFailure.onlySharedZones }
        _ = try await changeShares(inZone: name, of: place) { view, reach in
            let names = reach.member?.seats.map(\.shareName) ?? []
            let shares = try await view.shares(zone: reach.zone.number, names: names).compactMap { $0 }
            return (
                shares,
                { writing, transaction in
                    for share in shares { try await writing.leave(share, user, &transaction) }
                }
            )
        }
    }
}

extension ZoneHeader {
    /// The record name of the zone's zone-wide share (B-ZN-15).
    var zoneWideShare: String? { sharing.wholeShare == nil ? nil : Share.zoneWideName }
}
