import CloudKitModel
import CloudKitRecordLayer

/// Reads the feed of a database.
package struct FetchDatabaseChanges: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns the zones that changed, were created or deleted since a token; each at most once, at its newest change.
    ///
    /// Rules B-CHG-01 to B-CHG-04, B-CHG-08, B-CHG-09, B-ZN-09.
    package func run(
        _ request: DatabaseChangesRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> DatabaseChangesPage {
        let place = try DatabaseAccess.place(address, for: caller, to: .readChanges)
        if place.scope == .shared { return try await FetchSharedDatabaseChanges(cloud).run(request, in: place) }
        let partition = place.partition
        let sent = try cloud.tokens.openSent(request.syncToken, for: partition, kinds: [.database])
        let limit = cloud.limits.pageItems(wanted: request.resultsLimit, by: caller)
        let isCaughtUp = request.syncToken == ""
        return try await cloud.noticingLaterStates {
            try await cloud.store.read(partition) { view in
                let header = try await view.databaseHeader()
                let feed = try DatabaseFeedPosition(token: sent?.token, isCaughtUp: isCaughtUp, header: header)
                return try await databasePage(feed, repeating: sent, limit: limit, in: place, view)
            }
        }
    }

    private func databasePage(
        _ position: DatabaseFeedPosition, repeating sent: SentSyncToken?, limit: Int, in place: DatabaseContext,
        _ view: StorageReader
    ) async throws -> DatabaseChangesPage {
        // One more than fits shows whether there is more.
        let entries = try await view.databaseFeed(after: position.version, limit: limit + 1)
        let shown = entries.prefix(limit)
        let zones = try await view.zones(named: shown.map(\.zoneName))
        var events: [ZoneChangeEvent] = []
        for (entry, zone) in zip(shown, zones) {
            guard let zone else { continue }
            let id = place.zoneID(zone.name)
            if let reason = zone.state.deletionReason {
                if entry.version > position.baseline { events.append(.deleted(id, reason)) }
            } else {
                let token = SyncToken.zone(zone.number, at: zone.latestVersion)
                events.append(.changed(id, syncToken: cloud.tokens.seal(token, for: place.partition)))
            }
        }
        let moreComing = entries.count > limit
        let last = shown.last?.version ?? position.version
        let token = SyncToken(
            .database, version: moreComing ? last : max(last, position.baseline), baseline: position.baseline)
        return DatabaseChangesPage(
            events: events, syncToken: cloud.tokens.seal(token, for: place.partition, repeating: sent),
            moreComing: moreComing)
    }
}

extension DatabaseContext {
    /// The partition to which tokens of the shared database's feed are bound.
    var sharedFeed: StoragePartition { StoragePartition("shared:" + partition.name) }
}
