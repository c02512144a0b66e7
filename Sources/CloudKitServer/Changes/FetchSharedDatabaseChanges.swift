import CloudKitModel
import CloudKitRecordLayer

/// Reads the feed of a shared database.
struct FetchSharedDatabaseChanges: Sendable {
    let cloud: Cloud

    init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns the changes of the shared database since a token: new, changed and deleted zones (B-SHF-01, B-SHF-04).
    func run(
        _ request: DatabaseChangesRequest, in place: DatabaseContext
    ) async throws -> DatabaseChangesPage {
        let shared = try SharedDatabase(cloud, in: place)
        let feed = place.sharedFeed
        let sent = try cloud.tokens.openSent(request.syncToken, for: feed, kinds: [.database])
        try await shared.catchUp()
        let limit = cloud.limits.pageItems(wanted: request.resultsLimit, by: place.caller)
        let isCaughtUp = request.syncToken == ""
        let (entries, position, isLast) = try await cloud.noticingLaterStates {
            try await cloud.store.read(place.partition) { view in
                let header = try await view.joinedHeader()
                var database = DatabaseHeader()
                database.version = header.version
                database.horizon = header.horizon
                let position = try DatabaseFeedPosition(token: sent?.token, isCaughtUp: isCaughtUp, header: database)
                // One more than fits shows whether there is more.
                let zones = try await view.joinedFeed(after: position.version, limit: limit + 1)
                return (Array(zones.prefix(limit)), position, zones.count <= limit)
            }
        }
        var events: [ZoneChangeEvent] = []
        for zone in entries {
            let id = ZoneID(zoneName: zone.zoneName, owner: zone.owner)
            if let reason = zone.gone {
                if zone.feedVersion > position.baseline { events.append(.deleted(id, reason)) }
            } else {
                let token = SyncToken(.member, zone: zone.zone, version: zone.noted)
                let place = try place.reaching(id)
                events.append(.changed(id, syncToken: cloud.tokens.seal(token, for: place.tokenPartition)))
            }
        }
        let last = entries.last?.feedVersion ?? position.version
        let next = SyncToken(
            .database, version: isLast ? Swift.max(last, position.baseline) : last, baseline: position.baseline)
        return DatabaseChangesPage(
            events: events, syncToken: cloud.tokens.seal(next, for: feed, repeating: sent), moreComing: !isLast)
    }
}
