import CloudKitModel
import CloudKitServer
import CloudKitWire

/// The endpoints below `/database`: each reads a body, calls a rule and prints what it returns.
struct DatabaseEndpoints {
    var cloud: Cloud
    var answers: AnswerBudget
    var fetches: FetchLimiter

    /// Returns the style in which the caller's items are printed.
    func style(_ call: DatabaseCall) -> WireStyle {
        let user = call.caller.user
        var style = WireStyle(
            surface: call.caller.surface == .native ? .native : .web, caller: user, requestUUID: call.uuid)
        let bearer = AssetBearer(
            container: call.database.container, environment: call.database.environment, user: user)
        style.downloadURL = { [cloud, base = call.baseURL] asset in
            IssueDownloadToken(cloud).run(for: asset, bearer: bearer).map { AssetURL.download($0, base: base) }
        }
        return style
    }

    // MARK: Records

    func modifyRecords(_ call: DatabaseCall) async throws -> EndpointResponse {
        let request = try ModifyRecordsRequest(wire: call.body, limits: call.limits)
        call.subject.set(zone: request.zoneID, recordNames: request.operations.lazy.compactMap(\.change.recordName))
        call.subject.recordType = request.operations.first?.change.recordType
        return try await bounded(.saves(of: call.body.count), for: call) {
            let outcomes = try await ModifyRecords(cloud).run(request, in: call.database, by: call.caller)
            call.subject.add(outcomes, of: request.operations)
            let syncToken = try await syncToken(of: request.zoneID, for: call)
            return EndpointResponse(
                body: outcomes.wireAnswer(style: style(call), answering: request, syncToken: syncToken),
                itemsIn: request.operations.count, itemsOut: outcomes.count, itemsFailed: outcomes.failedCount)
        }
    }

    func lookupRecords(_ call: DatabaseCall) async throws -> EndpointResponse {
        let request = try LookupRecordsRequest(wire: call.body, limits: call.limits)
        call.subject.set(zone: request.zoneID, recordNames: request.records.lazy.map(\.recordName))
        return try await bounded(.records(request.records.count, cloud.limits), for: call) {
            let outcomes = try await LookupRecords(cloud).run(request, in: call.database, by: call.caller)
            call.subject.add(outcomes)
            let syncToken = try await syncToken(of: request.zoneID, for: call)
            return EndpointResponse(
                body: outcomes.wireAnswer(style: style(call), answering: request, syncToken: syncToken),
                itemsIn: request.records.count, itemsOut: outcomes.count, itemsFailed: outcomes.failedCount)
        }
    }

    func queryRecords(_ call: DatabaseCall) async throws -> EndpointResponse {
        let request = try QueryRecordsRequest(wire: call.body, limits: call.limits)
        call.subject.zone = request.zoneID?.zoneName
        call.subject.recordType = request.query.recordType
        return try await bounded(.page(cloud.limits), for: call) {
            let page = try await QueryRecords(cloud).run(request, in: call.database, by: call.caller)
            let syncToken = try await syncToken(of: request.zoneID, for: call)
            return EndpointResponse(
                body: page.wireAnswer(style: style(call), answering: request, syncToken: syncToken),
                itemsIn: 1, itemsOut: page.records.count)
        }
    }

    func listRecords(_ call: DatabaseCall) async throws -> EndpointResponse {
        let request = try ListRecordsRequest(wire: call.body, limits: call.limits)
        call.subject.zone = request.zoneID.zoneName
        return try await bounded(.page(cloud.limits), for: call) {
            let page = try await ListRecords(cloud).run(request, in: call.database, by: call.caller)
            return EndpointResponse(
                body: page.wireAnswer(style: style(call), answering: request),
                itemsIn: 1, itemsOut: page.records.count, itemsFailed: page.failures.count)
        }
    }

    /// Returns the token of a zone, for a request with `getCurrentSyncToken=true`; nil where a zone has none.
    private func syncToken(of zoneID: ZoneID?, for call: DatabaseCall) async throws -> String? {
        guard call.query.wantsSyncToken, let zoneID else { return nil }
        let outcomes = try await LookupZones(cloud).run([zoneID], in: call.database, by: call.caller)
        guard case .zone(let zone)? = outcomes.first else { return nil }
        return zone.syncToken
    }

    // MARK: Assets

    func uploadAssets(_ call: DatabaseCall) async throws -> EndpointResponse {
        let request = try AssetUploadRequest(wire: call.body, limits: call.limits)
        var tickets = try await PermitAssetUploads(cloud).run(request, in: call.database, by: call.caller)
        for index in tickets.indices {
            tickets[index].url = AssetURL.upload(tickets[index].url, base: call.baseURL)
        }
        return EndpointResponse(body: tickets.wireAnswer(), itemsIn: request.items.count, itemsOut: tickets.count)
    }

    func importAsset(_ call: DatabaseCall) async throws -> EndpointResponse {
        let request = try ImportAssetRequest(wire: call.body, limits: call.limits)
        let asset = try await ImportAsset(cloud).run(
            request, token: AssetURL.downloadToken(in: request.downloadURL), in: call.database, by: call.caller)
        return EndpointResponse(
            body: [RereferenceOutcome.asset(asset)].wireAnswer(style: style(call)), itemsIn: 1, itemsOut: 1)
    }

    func rereferenceAssets(_ call: DatabaseCall) async throws -> EndpointResponse {
        let request = try RereferenceAssetsRequest(wire: call.body, limits: call.limits)
        let outcomes = try await RereferenceAssets(cloud).run(request, in: call.database, by: call.caller)
        let failed = outcomes.count { if case .failed = $0 { true } else { false } }
        return EndpointResponse(
            body: outcomes.wireAnswer(style: style(call)), itemsIn: request.items.count, itemsOut: outcomes.count,
            itemsFailed: failed)
    }

    // MARK: Zones

    func listZones(_ call: DatabaseCall) async throws -> EndpointResponse {
        let zones = try await ListZones(cloud).run(in: call.database, by: call.caller)
        return EndpointResponse(body: zones.map { .zone($0) }.wireAnswer(style: style(call)), itemsOut: zones.count)
    }

    func lookupZones(_ call: DatabaseCall) async throws -> EndpointResponse {
        _ = try call.user()
        let zones = try [ZoneID](wire: call.body, limits: call.limits)
        call.subject.zone = zones.first?.zoneName
        let outcomes = try await LookupZones(cloud).run(zones, in: call.database, by: call.caller)
        call.subject.add(outcomes)
        return EndpointResponse(
            body: outcomes.wireAnswer(style: style(call)), itemsIn: zones.count, itemsOut: outcomes.count,
            itemsFailed: outcomes.failedCount)
    }

    func modifyZones(_ call: DatabaseCall) async throws -> EndpointResponse {
        let operations = try [ZoneOperation](wire: call.body, limits: call.limits)
        call.subject.zone = operations.first?.zoneID.zoneName
        let outcomes = try await ModifyZones(cloud).run(operations, in: call.database, by: call.caller)
        call.subject.add(outcomes)
        return EndpointResponse(
            body: outcomes.wireAnswer(style: style(call)), itemsIn: operations.count, itemsOut: outcomes.count,
            itemsFailed: outcomes.failedCount)
    }

    // MARK: Changes

    func zoneChanges(_ call: DatabaseCall) async throws -> EndpointResponse {
        let requests = try [ZoneChangesRequest](wire: call.body, limits: call.limits)
        call.subject.zone = requests.first?.zoneID.zoneName
        return try await bounded(.page(cloud.limits), for: call) {
            let outcomes = try await FetchZoneChanges(cloud).run(requests, in: call.database, by: call.caller)
            call.subject.add(outcomes)
            return EndpointResponse(
                body: outcomes.wireAnswer(style: style(call), answering: requests), itemsIn: requests.count,
                itemsOut: outcomes.eventCount, itemsFailed: outcomes.failedCount)
        }
    }

    /// Returns the older form of one zone's feed: here a bad zone or token fails the whole request (docs/web-services.md §8.5).
    func recordChanges(_ call: DatabaseCall) async throws -> EndpointResponse {
        let request = try ZoneChangesRequest(legacyWire: call.body, limits: call.limits)
        call.subject.zone = request.zoneID.zoneName
        return try await bounded(.page(cloud.limits), for: call) {
            switch try await FetchZoneChanges(cloud).run([request], in: call.database, by: call.caller).first {
            case .page(let page)?:
                return EndpointResponse(
                    body: page.legacyWireAnswer(style: style(call), answering: request), itemsIn: 1,
                    itemsOut: page.events.count)
            case .failed(_, let failure)?: throw failure
            case nil: throw RequestFailure(.internalError, "internal error")
            }
        }
    }

    func databaseChanges(_ call: DatabaseCall) async throws -> EndpointResponse {
        let request = try DatabaseChangesRequest(wire: call.body, limits: call.limits)
        let page = try await FetchDatabaseChanges(cloud).run(request, in: call.database, by: call.caller)
        return EndpointResponse(body: page.wireAnswer(style: style(call)), itemsIn: 1, itemsOut: page.events.count)
    }

    /// Returns the older form of a database's feed.
    func zoneListChanges(_ call: DatabaseCall) async throws -> EndpointResponse {
        let request = try DatabaseChangesRequest(legacyWire: call.body, limits: call.limits)
        let page = try await FetchDatabaseChanges(cloud).run(request, in: call.database, by: call.caller)
        return EndpointResponse(
            body: page.legacyWireAnswer(style: style(call)), itemsIn: 1, itemsOut: page.events.count)
    }

    // MARK: Subscriptions

    func listSubscriptions(_ call: DatabaseCall) async throws -> EndpointResponse {
        let found = try await ListSubscriptions(cloud).run(in: call.database, by: call.caller)
        return EndpointResponse(
            body: found.map { .subscription($0) }.wireAnswer(style: style(call)), itemsOut: found.count)
    }

    func lookupSubscriptions(_ call: DatabaseCall) async throws -> EndpointResponse {
        let ids = try SubscriptionLookup.ids(wire: call.body, limits: call.limits)
        let outcomes = try await LookupSubscriptions(cloud).run(ids, in: call.database, by: call.caller)
        call.subject.add(outcomes)
        return EndpointResponse(
            body: outcomes.wireAnswer(style: style(call)), itemsIn: ids.count, itemsOut: outcomes.count,
            itemsFailed: outcomes.failedCount)
    }

    /// Looks subscriptions up for a request that names no database: in the private database, the shared one and the public one; each is the
    /// first that is found. A server-to-server key has those of the public database alone.
    func lookupSubscriptionsAnywhere(_ call: DatabaseCall) async throws -> EndpointResponse {
        let ids = try SubscriptionLookup.ids(wire: call.body, limits: call.limits)
        let scopes: [DatabaseScope] = call.caller.isServerKey ? [.public] : [.private, .shared, .public]
        var outcomes: [SubscriptionOutcome] = []
        for scope in scopes {
            let address = DatabaseAddress(
                container: call.database.container, environment: call.database.environment, scope: scope)
            let found = try await LookupSubscriptions(cloud).run(ids, in: address, by: call.caller)
            outcomes = outcomes.isEmpty ? found : zip(outcomes, found).map { $0.isFailure ? $1 : $0 }
        }
        return EndpointResponse(
            body: outcomes.wireAnswer(style: style(call)), itemsIn: ids.count, itemsOut: outcomes.count,
            itemsFailed: outcomes.failedCount)
    }

    func modifySubscriptions(_ call: DatabaseCall) async throws -> EndpointResponse {
        let operations = try [SubscriptionOperation](wire: call.body, limits: call.limits)
        let outcomes = try await ModifySubscriptions(cloud).run(operations, in: call.database, by: call.caller)
        call.subject.add(outcomes)
        return EndpointResponse(
            body: outcomes.wireAnswer(style: style(call)), itemsIn: operations.count, itemsOut: outcomes.count,
            itemsFailed: outcomes.failedCount)
    }
}

extension [RecordOutcome] {
    fileprivate var failedCount: Int { count { if case .failed = $0 { true } else { false } } }
}

extension SubscriptionOutcome {
    fileprivate var isFailure: Bool { if case .failed = self { true } else { false } }
}

extension [SubscriptionOutcome] {
    fileprivate var failedCount: Int { count(where: \.isFailure) }
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
