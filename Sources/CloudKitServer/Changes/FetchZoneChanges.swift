import CloudKitModel
import CloudKitRecordLayer

/// Reads the feeds of zones.
package struct FetchZoneChanges: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns the changes of zones, each since its own token.
    ///
    /// Rules B-CHG-01 to B-CHG-14, docs/web-services.md §8.3. Zones fail one by one (B-CHG-13).
    package func run(
        _ requests: [ZoneChangesRequest], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ZoneChangesOutcome] {
        let place = try DatabaseAccess.place(address, for: caller, to: .readChanges)
        try caller.checkItemCount(requests.count)
        let epoch = cloud.store.epoch
        var outcomes = try await zoneChanges(requests, in: place)
        if outcomes.contains(where: \.isOfLaterState), try await cloud.store.catchUp() {
            outcomes = try await zoneChanges(requests, in: place)
        }
        if outcomes.contains(where: \.isOfLaterState) { try await cloud.noteLaterState(than: epoch) }
        return outcomes
    }

    private func zoneChanges(
        _ requests: [ZoneChangesRequest], in place: DatabaseContext
    ) async throws -> [ZoneChangesOutcome] {
        if place.scope == .shared { return try await sharedZoneChanges(requests, in: place) }
        try await keepStates(requests, in: place)
        let reading = ZoneFeedReader(place: place, tokens: cloud.tokens, limits: cloud.limits)
        return try await addingIdentities(
            to: cloud.store.read(place.partition) { view in
                var outcomes: [ZoneChangesOutcome] = []
                var bytesLeft = reading.limits.answerBytesMax
                for request in requests {
                    do {
                        let page = try await reading.page(request, bytesLeft: &bytesLeft, view)
                        outcomes.append(.page(page))
                    } catch let failure as RequestFailure {
                        outcomes.append(.failed(request.zoneID, failure))
                    }
                }
                // A device without the present keys would count what it cannot open as read.
                if outcomes.contains(where: \.hasEvents) { try await place.checkKeys(in: view) }
                return outcomes
            })
    }

    /// Keeps the states that the requests carry, so that the answers are read after them.
    private func keepStates(_ requests: [ZoneChangesRequest], in place: DatabaseContext) async throws {
        guard ZoneStateKeeper.keepsStates(in: place) else { return }
        let keeper = ZoneStateKeeper(place: place, tokens: cloud.tokens)
        for request in requests {
            // The answer to a request with an invalid zone says so.
            guard let update = request.states?.update,
                let name = try? ZoneAccess.zoneName(of: request.zoneID, in: place)
            else { continue }
            do {
                try await StorageTurn.$user.withValue(place.caller.user?.recordName) {
                    try await cloud.store.write(place.partition) { transaction in
                        try await keeper.keep(update, zoneName: name, &transaction)
                    }
                }
            } catch let error as CancellationError {
                throw error
            } catch {
                // A store that cannot be written can still be read; the device sends its state again.
            }
        }
    }

    /// Returns the changes of zones of other users, each in its owner's partition.
    private func sharedZoneChanges(
        _ requests: [ZoneChangesRequest], in place: DatabaseContext
    ) async throws -> [ZoneChangesOutcome] {
        var outcomes: [ZoneChangesOutcome] = []
        var bytesLeft = cloud.limits.answerBytesMax
        for request in requests {
            do {
                let place = try place.reaching(request.zoneID)
                let left = bytesLeft
                let (page, taken) = try await cloud.store.read(place.partition) { view in
                    var reading = try await MemberFeed(
                        request, in: place, tokens: cloud.tokens, limits: cloud.limits, bytesLeft: left, view)
                    return (try await reading.page(view), reading.bytesTaken)
                }
                bytesLeft -= taken
                outcomes.append(.page(page))
            } catch let failure as RequestFailure {
                outcomes.append(.failed(request.zoneID, failure))
            }
        }
        return try await addingIdentities(to: outcomes)
    }

    /// Returns pages with names and public identities in the shares among their records.
    private func addingIdentities(to outcomes: [ZoneChangesOutcome]) async throws -> [ZoneChangesOutcome] {
        var outcomes = outcomes
        for (position, outcome) in outcomes.enumerated() {
            guard case .page(var page) = outcome else { continue }
            for index in page.events.indices {
                guard case .changed(let record) = page.events[index], record.isShare else { continue }
                var records = [record]
                try await cloud.userDirectory.addIdentities(to: &records)
                page.events[index] = .changed(records[0])
            }
            outcomes[position] = .page(page)
        }
        return outcomes
    }
}

extension ZoneChangesOutcome {
    fileprivate var hasEvents: Bool { if case .page(let page) = self { !page.events.isEmpty } else { false } }

    /// Whether the device knows a later state of the zone than the store has.
    fileprivate var isOfLaterState: Bool {
        if case .failed(_, let failure) = self { failure == .tokenAhead } else { false }
    }
}

/// Reads pages of feeds inside one transaction.
private struct ZoneFeedReader: Sendable {
    let place: DatabaseContext
    let tokens: SyncTokenSeal
    let limits: Limits

    func page(
        _ request: ZoneChangesRequest, bytesLeft: inout Int, _ view: StorageReader
    ) async throws -> ZoneChangesPage {
        let name = try ZoneAccess.zoneName(of: request.zoneID, in: place)
        guard name != ZoneID.defaultZoneName else { throw RequestFailure.noFeed(for: place.caller.surface) }
        let zone = try ZoneAccess.live(try await view.zone(named: name))
        let sent = try tokens.openSent(request.syncToken, for: place.partition, kinds: [.zone, .zoneReversed])
        let (events, token, moreComing): Part
        switch position(of: request, sent, in: zone) {
        case .refuse(let failure): throw failure
        case .caughtUp: (events, token, moreComing) = ([], .zone(zone.number, at: zone.latestVersion), false)
        case .forward(let version, let baseline):
            (events, token, moreComing) = try await forward(
                request, zone: zone, after: version, baseline: baseline, bytesLeft: &bytesLeft, view)
        case .backward(let version, let floor, let top):
            (events, token, moreComing) = try await backward(
                request, zone: zone, before: version, floor: floor, top: top, bytesLeft: &bytesLeft, view)
        }
        var page = ZoneChangesPage(
            zoneID: place.zoneID(zone.name), events: events,
            syncToken: tokens.seal(token, for: place.partition, repeating: sent), moreComing: moreComing,
            clientChangeToken: zone.clientChangeToken)
        guard let states = request.states, !page.moreComing, ZoneStateKeeper.keepsStates(in: place) else { return page }
        let kept = try await ZoneStateKeeper(place: place, tokens: tokens).states(of: zone, known: states.known, view)
        bytesLeft -= kept.states.reduce(0) { $0 + $1.bytes.count * 2 }
        page.states = kept
        return page
    }

    /// What a page has of the feed: the changes, the position behind them, and whether there are more.
    private typealias Part = (events: [RecordChangeEvent], token: SyncToken, moreComing: Bool)

    private func position(of request: ZoneChangesRequest, _ sent: SentSyncToken?, in zone: ZoneHeader) -> FeedPosition {
        if request.syncToken == "" { return .caughtUp }
        return FeedPosition(token: sent?.token, zone: zone, isReversed: request.reverse)
    }

    private func forward(
        _ request: ZoneChangesRequest, zone: ZoneHeader, after version: UInt64, baseline: UInt64,
        bytesLeft: inout Int, _ view: StorageReader
    ) async throws -> Part {
        // A device that looks for the end of a record wants the deletions that a first feed passes over. Its tokens keep the
        // baseline: they stay valid while deletions before it are forgotten.
        let reportsAll = request.states?.reportsAllDeletions ?? false
        var page = newPage(request, silentDeletions: reportsAll ? 0 : baseline, bytesLeft)
        try await fill(&page) { last, limit in
            try await view.feed(zone: zone.number, after: last ?? version, limit: limit)
        }
        bytesLeft -= page.bytesTaken
        let reached = page.isFull ? page.last ?? version : max(page.last ?? version, zone.latestVersion)
        let token = SyncToken(.zone, zone: zone.number, version: reached, baseline: baseline)
        return (try await events(page, request: request, zone: zone, view), token, page.isFull)
    }

    private func backward(
        _ request: ZoneChangesRequest, zone: ZoneHeader, before version: UInt64, floor: UInt64, top: UInt64,
        bytesLeft: inout Int, _ view: StorageReader
    ) async throws -> Part {
        // Without a token at the start nothing is known that could be gone.
        var page = newPage(request, silentDeletions: floor == 0 ? top : 0, bytesLeft)
        try await fill(&page) { last, limit in
            try await view.feed(zone: zone.number, before: last ?? version, limit: limit).filter {
                $0.version > floor
            }
        }
        bytesLeft -= page.bytesTaken
        let token =
            page.isFull
            ? SyncToken(
                .zoneReversed, zone: zone.number, version: page.last ?? version, baseline: top, floor: floor)
            : .zone(zone.number, at: top)
        return (try await events(page, request: request, zone: zone, view), token, page.isFull)
    }

    private func newPage(_ request: ZoneChangesRequest, silentDeletions: UInt64, _ bytesLeft: Int) -> FeedPage {
        FeedPage(
            of: request, by: place.caller, limits: limits, silentDeletions: silentDeletions, bytesLeft: bytesLeft)
    }

    /// Reads on until the page is full or the feed ends.
    private func fill(
        _ page: inout FeedPage, _ next: (_ last: UInt64?, _ limit: Int) async throws -> [FeedEntry]
    ) async throws {
        // One more than fits shows whether there is more.
        let limit = min(page.resultsMax, 400) + 1
        while !page.isFull {
            let entries = try await next(page.last, limit)
            for entry in entries where !page.take(entry) { return }
            if entries.count < limit { return }
        }
    }

    private func events(
        _ page: FeedPage, request: ZoneChangesRequest, zone: ZoneHeader, _ view: StorageReader
    ) async throws -> [RecordChangeEvent] {
        try await view.events(page.picked, of: zone, in: place, desiredKeys: request.desiredKeys)
    }
}

extension StorageView {
    /// Returns the events for entries of a feed: records as they are, or deletions.
    func events(
        _ entries: [FeedEntry], of zone: ZoneHeader, in place: DatabaseContext, desiredKeys: [String]?
    ) async throws -> [RecordChangeEvent] {
        let damaged = DamagedRecords()
        let found = try await self.records(
            zone: zone.number, names: entries.filter { !$0.isTombstone }.map(\.recordName), in: place.zoneID(zone.name),
            desired: desiredKeys.map(Set.init), damaged: damaged)
        if !damaged.names.isEmpty { throw RequestFailure.recordsDamaged(damaged.names) }
        var records = found.compactMap { $0 }
        guard records.count == found.count else { throw DamagedValue(.feed) }
        try await attachShares(to: &records, zone: zone.number, in: place)
        var next = 0
        return entries.map { entry in
            if !entry.isTombstone {
                defer { next += 1 }
                return .changed(records[next])
            }
            return .deleted(
                RecordTombstone(
                    recordName: entry.recordName, recordType: entry.recordType,
                    changeTag: ChangeTag(version: entry.version)))
        }
    }
}

extension RequestFailure {
    /// B-DB-13; docs/web-services.md §5.3.
    static func noFeed(for surface: Caller.ClientKind) -> RequestFailure {
        RequestFailure(
            .badRequest,
            surface == .native
                ? "AppDefaultZone does not support getChanges call" : "cannot get changes in default zone",
            remedy: "Keep records whose changes are followed in a custom zone.")
    }
}
