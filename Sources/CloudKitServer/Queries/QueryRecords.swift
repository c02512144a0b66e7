import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Finds the records of one type that satisfy a query.
package struct QueryRecords: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Finds the records of one type that satisfy a query, page by page.
    ///
    /// Rules B-QRY-01 to B-QRY-22. Without a limit a page holds up to 100 records (B-QRY-19), never more than 200, or
    /// 400 for the native surface; it may hold fewer and still not be the last. Changes committed before the request
    /// are found (B-QRY-20). In the private database a query may cover all zones; the shared one needs a zone.
    ///
    /// - Throws: `typeNotFound`, `indexMissing`, `badRequest`, `sizeLimitExceeded` as `QueryPlan.init`; `zoneNotFound`
    ///   and other failures of the zone; `badRequest` for a marker of another query.
    package func run(
        _ request: QueryRecordsRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> QueryPage {
        var place = try DatabaseAccess.place(address, for: caller, to: .readRecords)
        if let zoneID = request.zoneID { place = try place.reaching(zoneID) }
        let request = request.namingCaller(caller)
        let fingerprint = try QueryFingerprint(request, in: place)
        let seal = QueryMarkerSeal(cloud.serverEnvironment)
        var start: QueryPosition?
        if let marker = request.continuationMarker, !marker.isEmpty { start = try seal.open(marker, for: fingerprint) }
        for _ in 0..<Self.schemaAttemptsMax {
            let schema = try await cloud.schemas.current(place.schemaPartition)
            let reading: QueryReader
            do throws(RequestFailure) {
                reading = try QueryReader(request, in: place, schema: schema, limits: cloud.limits, after: start)
            } catch {
                if error.code == .indexMissing, !caller.isOperator {
                    await cloud.servedRequests.note(request.query, in: place)
                }
                throw error
            }
            if let found = try await cloud.store.read(place.partition, { view in try await reading.rows(view) }) {
                // A deployment must not break what apps ask for.
                if !caller.isOperator { await cloud.servedRequests.note(request.query, in: place) }
                let marker = try found.next.map { try seal.seal($0, for: fingerprint) }
                var records = found.records
                try await cloud.userDirectory.addIdentities(to: &records)
                let failures = Dictionary(
                    uniqueKeysWithValues: found.damaged.map { ($0, RequestFailure.recordDamaged) })
                return QueryPage(records: records, failures: failures, continuationMarker: marker)
            }
        }
        throw RequestFailure(.zoneBusy, "the schema keeps changing", remedy: "Try again.", retryAfter: 1)
    }

    private static var schemaAttemptsMax: Int { 4 }
}

/// One request, ready to be read inside a transaction.
private struct QueryReader: Sendable {
    let request: QueryRecordsRequest
    let place: DatabaseContext
    let plan: QueryPlan
    let schemaVersion: UInt64
    let limits: Limits
    let start: QueryPosition?
    let isVisible: RecordVisibility?
    /// The only zone asked; nil: all.
    let zoneName: String?

    private static let resultsDefault = 100

    struct Found: Sendable {
        var records: [Record]
        /// The names of matching records that are damaged.
        var damaged: Set<String>
        var next: QueryPosition?
    }

    init(
        _ request: QueryRecordsRequest, in place: DatabaseContext, schema: Schema, limits: Limits,
        after start: QueryPosition?
    ) throws(RequestFailure) {
        self.request = request
        self.place = place
        self.limits = limits
        self.start = start
        schemaVersion = schema.version
        zoneName = try Self.zoneName(request, in: place)
        let type = schema[request.query.recordType]
        plan = try QueryPlan(
            request.query, indexes: type?.recordIndexes,
            settings: QuerySettings(container: place.address.container))
        isVisible = try Self.visibility(of: type, in: place, roles: schema.roles(of: place.caller.user))
    }

    private static func zoneName(
        _ request: QueryRecordsRequest, in place: DatabaseContext
    ) throws(RequestFailure) -> String? {
        if let id = request.zoneID { return try ZoneAccess.zoneName(of: id, in: place) }
        if place.scope == .shared { throw .onlySharedZones }
        return request.zoneWide && place.scope == .private ? nil : ZoneID.defaultZoneName
    }

    /// In the public database the grants of the type decide; those of creators let through their own records.
    private static func visibility(
        of type: RecordTypeDefinition?, in place: DatabaseContext, roles: Set<String>
    ) throws(RequestFailure) -> RecordVisibility? {
        guard place.scope == .public, !place.caller.isOperator, let grants = type?.grants else { return nil }
        let user = place.caller.user
        func refusal(creator: UserID?) -> RequestFailure? {
            PublicAccess.refusal(.read, grants: grants, user: user, creator: creator, roles: roles)
        }
        if refusal(creator: nil) == nil { return nil }
        if let refusal = refusal(creator: user) { throw refusal }
        return { record, _ in
            PublicAccess.refusal(
                .read, grants: grants, user: user, creator: record.created.user, roles: roles) == nil
        }
    }

    private var limit: Int {
        limits.pageItems(wanted: request.resultsLimit, by: place.caller, usually: Self.resultsDefault)
    }

    /// nil if the plan was made with an older schema than this database's indexes.
    func rows(_ view: StorageReader) async throws -> Found? {
        if try await view.databaseHeader().schemaFloor > schemaVersion { return nil }
        let (zones, isVisible) = try await zones(view)
        var run = QueryRun(
            plan, in: view, budget: QueryBudget(bytesMax: limits.answerBytesMax), isVisible: isVisible)
        let found = try await run.rows(zones: Array(zones.keys), after: start, limit: limit)
        let desired = request.desiredKeys.map(Set.init)
        var records = try found.rows.compactMap { row in
            try zones[row.zone].map { try row.record.record(in: place.zoneID($0), desired: desired) }
        }
        if request.query.recordType == Validity.shareRecordType {
            for (zone, name) in zones { try await attachShares(to: &records, in: zone, name, view) }
        }
        let damaged = run.damaged.names
        // Whether the caller may see a record is written in the record.
        if isVisible != nil, !damaged.isEmpty { throw RequestFailure.recordDamaged }
        return Found(records: records, damaged: damaged, next: found.next)
    }

    private func attachShares(
        to records: inout [Record], in zone: UInt32, _ name: String, _ view: StorageReader
    ) async throws {
        let positions = records.indices.filter { records[$0].id.zoneID.zoneName == name }
        var shares = positions.map { records[$0] }
        try await view.attachShares(to: &shares, zone: zone, in: place)
        for (position, share) in zip(positions, shares) { records[position] = share }
    }

    /// Returns the names of the queried zones, by their numbers, and the records that the caller may see of them; nil:
    /// all.
    private func zones(_ view: StorageReader) async throws -> ([UInt32: String], RecordVisibility?) {
        if let zoneName {
            let access = try await CallerAccess(try await view.zone(named: zoneName), in: place, view)
            let zones = [access.zone.number: zoneName]
            if access.isOwner { return (zones, isVisible) }
            return (zones, { record, view in try await !access.visible([record.name], view).isEmpty })
        }
        var zones = [ZoneHeader.implicitDefault.number: ZoneID.defaultZoneName]
        for zone in try await view.zones(limit: .max) where zone.state == .live { zones[zone.number] = zone.name }
        return (zones, isVisible)
    }
}

extension QueryRecordsRequest {
    /// Returns the request with the caller's own name where a filter on creators or modifiers says "me".
    fileprivate func namingCaller(_ caller: Caller) -> QueryRecordsRequest {
        var result = self
        result.query = query.namingCaller(caller)
        return result
    }
}

extension Query {
    /// Returns the query with the caller's own name where a filter on creators or modifiers says "me".
    func namingCaller(_ caller: Caller) -> Query {
        guard let user = caller.user else { return self }
        var result = self
        result.filters = filters.map { filter in
            guard case .system(.createdUserRecordName) = filter.key else {
                guard case .system(.modifiedUserRecordName) = filter.key else { return filter }
                return filter.naming(user)
            }
            return filter.naming(user)
        }
        return result
    }
}

extension QueryFilter {
    fileprivate func naming(_ user: UserID) -> QueryFilter {
        var result = self
        result.value = value.naming(user)
        return result
    }
}

extension FieldValue {
    fileprivate func naming(_ user: UserID) -> FieldValue {
        switch self {
        case .reference(var reference):
            if UserID(reference.recordName).isCaller { reference.recordName = user.recordName }
            return .reference(reference)
        case .string(let name): return UserID(name).isCaller ? .string(user.recordName) : self
        case .list(let base, let values): return .list(base, values.map { $0.naming(user) })
        default: return self
        }
    }
}
