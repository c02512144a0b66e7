import CloudKitModel
import CloudKitServer
import CloudKitWire

/// The endpoints below `/database`: a body is read, the rules are asked, their answer is printed.
struct DatabaseEndpoints {
    var cloud: Cloud

    func style(_ call: Call) -> WireStyle {
        var style = WireStyle(
            surface: call.surface == .native ? .native : .web, caller: call.admission.user, requestUUID: call.uuid)
        let bearer = AssetBearer(
            container: call.place.container, environment: call.place.environment, user: call.admission.user)
        style.downloadURL = { [cloud, base = call.baseURL] asset in
            IssueDownloadToken(cloud).run(for: asset, bearer: bearer).map { AssetRoute.downloadURL($0, base: base) }
        }
        return style
    }

    func answer(_ call: Call, users: UserEndpoints) async throws -> Answer {
        switch call.endpoint {
        case .recordsModify: try await modifyRecords(call)
        case .recordsLookup: try await lookupRecords(call)
        case .recordsQuery: try await queryRecords(call)
        case .recordsChanges: try await recordChanges(call)
        case .zonesList: try await listZones(call)
        case .zonesLookup: try await lookupZones(call)
        case .zonesModify: try await modifyZones(call)
        case .zonesChanges: try await zoneListChanges(call)
        case .changesZone: try await zoneChanges(call)
        case .changesDatabase: try await databaseChanges(call)
        case .assetsUpload: try await uploadAssets(call)
        case .assetsRereference: try await rereferenceAssets(call)
        case .recordsResolve: try await resolveShares(call)
        case .recordsAccept: try await acceptShares(call)
        case .sharesRequestAccess: try await requestAccess(call)
        case .sharesKeysLookup: try await lookupShareKeys(call)
        case .sharesKeysStore: try await storeShareKeys(call)
        case .usersLookupParticipants: try await lookupParticipants(call)
        case .subscriptionsList: try await listSubscriptions(call)
        case .subscriptionsLookup: try await lookupSubscriptions(call)
        case .subscriptionsModify: try await modifySubscriptions(call)
        default: try users.answer(call)
        }
    }

    // MARK: Records

    private func modifyRecords(_ call: Call) async throws -> Answer {
        let request = try ModifyRecordsRequest(wire: call.body, limits: call.limits)
        let outcomes = try await ModifyRecords(cloud).run(request, in: call.database, by: call.caller)
        let syncToken = try await syncToken(of: request.zoneID, call)
        return Answer(
            body: outcomes.wireAnswer(style: style(call), answering: request, syncToken: syncToken),
            itemsIn: request.operations.count, itemsOut: outcomes.count, itemsFailed: outcomes.failedCount)
    }

    private func lookupRecords(_ call: Call) async throws -> Answer {
        let request = try LookupRecordsRequest(wire: call.body, limits: call.limits)
        let outcomes = try await LookupRecords(cloud).run(request, in: call.database, by: call.caller)
        let syncToken = try await syncToken(of: request.zoneID, call)
        return Answer(
            body: outcomes.wireAnswer(style: style(call), answering: request, syncToken: syncToken),
            itemsIn: request.records.count, itemsOut: outcomes.count, itemsFailed: outcomes.failedCount)
    }

    private func queryRecords(_ call: Call) async throws -> Answer {
        let request = try QueryRecordsRequest(wire: call.body, limits: call.limits)
        let page = try await QueryRecords(cloud).run(request, in: call.database, by: call.caller)
        let syncToken = try await syncToken(of: request.zoneID, call)
        return Answer(
            body: page.wireAnswer(style: style(call), answering: request, syncToken: syncToken),
            itemsIn: 1, itemsOut: page.records.count)
    }

    /// The token of a zone, for those who asked for it with `getCurrentSyncToken=true`; nil where a zone has none.
    private func syncToken(of zoneID: ZoneID?, _ call: Call) async throws -> String? {
        guard call.query.wantsSyncToken, let zoneID else { return nil }
        let outcomes = try await LookupZones(cloud).run([zoneID], in: call.database, by: call.caller)
        guard case .zone(let zone)? = outcomes.first else { return nil }
        return zone.syncToken
    }

    // MARK: Assets

    private func uploadAssets(_ call: Call) async throws -> Answer {
        let request = try AssetUploadRequest(wire: call.body, limits: call.limits)
        var tickets = try await PermitAssetUploads(cloud).run(request, in: call.database, by: call.caller)
        for index in tickets.indices {
            tickets[index].url = AssetRoute.uploadURL(tickets[index].url, base: call.baseURL)
        }
        return Answer(body: tickets.wireAnswer(), itemsIn: request.items.count, itemsOut: tickets.count)
    }

    private func rereferenceAssets(_ call: Call) async throws -> Answer {
        let request = try RereferenceAssetsRequest(wire: call.body, limits: call.limits)
        let outcomes = try await RereferenceAssets(cloud).run(request, in: call.database, by: call.caller)
        let failed = outcomes.count { if case .failed = $0 { true } else { false } }
        return Answer(
            body: outcomes.wireAnswer(style: style(call)), itemsIn: request.items.count, itemsOut: outcomes.count,
            itemsFailed: failed)
    }

    // MARK: Zones

    private func listZones(_ call: Call) async throws -> Answer {
        let zones = try await ListZones(cloud).run(in: call.database, by: call.caller)
        return Answer(body: zones.map { .zone($0) }.wireAnswer(style: style(call)), itemsOut: zones.count)
    }

    private func lookupZones(_ call: Call) async throws -> Answer {
        let zones = try [ZoneID](wire: call.body, limits: call.limits)
        let outcomes = try await LookupZones(cloud).run(zones, in: call.database, by: call.caller)
        return Answer(
            body: outcomes.wireAnswer(style: style(call)), itemsIn: zones.count, itemsOut: outcomes.count,
            itemsFailed: outcomes.failedCount)
    }

    private func modifyZones(_ call: Call) async throws -> Answer {
        let operations = try [ZoneOperation](wire: call.body, limits: call.limits)
        let outcomes = try await ModifyZones(cloud).run(operations, in: call.database, by: call.caller)
        return Answer(
            body: outcomes.wireAnswer(style: style(call)), itemsIn: operations.count, itemsOut: outcomes.count,
            itemsFailed: outcomes.failedCount)
    }

    // MARK: Changes

    private func zoneChanges(_ call: Call) async throws -> Answer {
        let requests = try [ZoneChangesRequest](wire: call.body, limits: call.limits)
        let outcomes = try await FetchZoneChanges(cloud).run(requests, in: call.database, by: call.caller)
        return Answer(
            body: outcomes.wireAnswer(style: style(call), answering: requests), itemsIn: requests.count,
            itemsOut: outcomes.eventCount, itemsFailed: outcomes.failedCount)
    }

    /// The old form of one zone's feed: here a bad zone or token fails the whole request (web-services.md §8.5).
    private func recordChanges(_ call: Call) async throws -> Answer {
        let request = try ZoneChangesRequest(legacyWire: call.body, limits: call.limits)
        switch try await FetchZoneChanges(cloud).run([request], in: call.database, by: call.caller).first {
        case .page(let page)?:
            return Answer(
                body: page.legacyWireAnswer(style: style(call), answering: request), itemsIn: 1,
                itemsOut: page.events.count)
        case .failed(_, let failure)?: throw failure
        case nil: throw RequestFailure(.internalError, "internal error")
        }
    }

    private func databaseChanges(_ call: Call) async throws -> Answer {
        let request = try DatabaseChangesRequest(wire: call.body, limits: call.limits)
        let page = try await FetchDatabaseChanges(cloud).run(request, in: call.database, by: call.caller)
        return Answer(body: page.wireAnswer(style: style(call)), itemsIn: 1, itemsOut: page.events.count)
    }

    /// The old form of a database's feed.
    private func zoneListChanges(_ call: Call) async throws -> Answer {
        let request = try DatabaseChangesRequest(legacyWire: call.body, limits: call.limits)
        let page = try await FetchDatabaseChanges(cloud).run(request, in: call.database, by: call.caller)
        return Answer(body: page.legacyWireAnswer(style: style(call)), itemsIn: 1, itemsOut: page.events.count)
    }

    // MARK: Subscriptions

    private func listSubscriptions(_ call: Call) async throws -> Answer {
        let found = try await ListSubscriptions(cloud).run(in: call.database, by: call.caller)
        return Answer(
            body: found.map { .subscription($0) }.wireAnswer(style: style(call)), itemsOut: found.count)
    }

    private func lookupSubscriptions(_ call: Call) async throws -> Answer {
        let ids = try SubscriptionLookup.ids(wire: call.body, limits: call.limits)
        let outcomes = try await LookupSubscriptions(cloud).run(ids, in: call.database, by: call.caller)
        return Answer(
            body: outcomes.wireAnswer(style: style(call)), itemsIn: ids.count, itemsOut: outcomes.count,
            itemsFailed: outcomes.failedCount)
    }

    private func modifySubscriptions(_ call: Call) async throws -> Answer {
        let operations = try [SubscriptionOperation](wire: call.body, limits: call.limits)
        let outcomes = try await ModifySubscriptions(cloud).run(operations, in: call.database, by: call.caller)
        return Answer(
            body: outcomes.wireAnswer(style: style(call)), itemsIn: operations.count, itemsOut: outcomes.count,
            itemsFailed: outcomes.failedCount)
    }
}

extension Call {
    var limits: WireLimits { surface == .native ? .native : .web }
}

extension [RecordOutcome] {
    fileprivate var failedCount: Int { count { if case .failed = $0 { true } else { false } } }
}

extension [SubscriptionOutcome] {
    fileprivate var failedCount: Int { count { if case .failed = $0 { true } else { false } } }
}

extension [ZoneOutcome] {
    fileprivate var failedCount: Int { count { if case .failed = $0 { true } else { false } } }
}

extension [ZoneChangesOutcome] {
    fileprivate var failedCount: Int { count { if case .failed = $0 { true } else { false } } }

    fileprivate var eventCount: Int {
        reduce(0) { sum, outcome in
            if case .page(let page) = outcome { sum + page.events.count } else { sum }
        }
    }
}
