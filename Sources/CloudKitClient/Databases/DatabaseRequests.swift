import CloudKitModel
import CloudKitWire
import Foundation

/// The calls of one operation or convenience function to one database: Model values in, Model values out.
///
/// Everything throws `CallFailure`.
package struct DatabaseRequests: Sendable {
    /// The connection of the container.
    package let connection: ContainerConnection
    /// The scope of the database.
    package let scope: DatabaseScope
    /// The settings of the operation.
    package let settings: CallSettings
    /// Answers that came before the process ended, for an operation that outlives it (B-OPS-06).
    let longLivedRun: LongLivedProgress?
    /// The time by which the operation has to end, on the connection's clock; nil: no limit.
    let deadline: Duration?
    /// The moment at which the operation began, for versions of records.
    var versionsMark: RecordVersions.Mark
    /// A Boolean value that indicates whether records open whose newer version the cloud has lost, to be saved over.
    var acceptsLostVersions = false

    /// Creates the requests of one operation in a database, for the signed-in user unless the settings name another account.
    package init(
        connection: ContainerConnection, scope: DatabaseScope, settings: CallSettings,
        longLivedRun: LongLivedProgress? = nil
    ) {
        self.longLivedRun = longLivedRun
        self.connection = connection
        self.scope = scope
        var settings = settings
        settings.account = settings.account ?? connection.cloud.account.state
        self.settings = settings
        connection.keys.follow(connection.cloud.restorations.claimed)
        versionsMark = connection.keys.versions.mark
        // The default of one week is left to the server and network timeouts.
        let isLimited = settings.resourceTimeout < CallSettings.resourceTimeoutDefault
        deadline =
            isLimited ? connection.cloud.clientEnvironment.now() + .seconds(max(0, settings.resourceTimeout)) : nil
    }

    /// The database; nil when the device does not know its cloud.
    package var address: DatabaseAddress? { try? connection.cloud.place.get().address(scope) }

    // MARK: Records

    /// Saves and deletes records of one zone as the request says: what has to be sealed is sealed.
    func send(_ request: ModifyRecordsRequest) async throws -> [RecordOutcome] {
        // An operation that checks no tag has the same effect when it is repeated.
        let isRepeatable = request.operations.allSatisfy { $0.kind == .forceUpdate || $0.kind == .forceDelete }
        try checkItemCount(request.operations.count)
        let outcomes = try await call(
            isRepeatable ? CloudEndpoint.modifyRecords.repeatable : .modifyRecords, withState(request).wire(),
            needsUser: true
        ) { try [RecordOutcome](wireAnswer: $0, zoneID: request.zoneID) }
        return try await completed(try counted(outcomes, request.operations.count), of: request)
    }

    /// Fetches records of one zone by name, as they come: sealed. Those that an answer has no space for are fetched by further requests.
    package func lookup(_ request: LookupRecordsRequest) async throws -> [RecordOutcome] {
        let items = request.records
        return try await fetchingRest(items.count) { positions in
            var part = request
            var outcomes: [RecordOutcome] = []
            let itemsMax = connection.cloud.surface.itemsMax
            for start in stride(from: 0, to: positions.count, by: itemsMax) {
                part.records = positions[start..<min(start + itemsMax, positions.count)].map { items[$0] }
                outcomes += try await lookupOnce(part)
            }
            return outcomes
        } isLeftOut: {
            if case .failed(_, let failure) = $0 { failure.isAnswerFull } else { false }
        }
    }

    func lookupOnce(_ request: LookupRecordsRequest) async throws -> [RecordOutcome] {
        let outcomes = try await call(
            .lookupRecords, request.wire(), needsUser: scope != .public
        ) { try [RecordOutcome](wireAnswer: $0, zoneID: request.zoneID) }
        return try counted(outcomes, request.records.count)
    }

    /// One page of a query's results, as they come: `opened` opens the records.
    package func query(_ request: QueryRecordsRequest) async throws -> QueryPage {
        if !connection.cloud.surface.isNative, request.query.matchesNothing { return QueryPage(records: []) }
        return try await call(.queryRecords, request.wire(), needsUser: scope != .public) {
            try QueryPage(wireAnswer: $0, zoneID: request.zoneID ?? .default)
        }
    }

    /// Lists a page of the records of one of the user's zones, the default zone too, as they come: `opened` opens them.
    ///
    /// In the public database these are the records that the user created.
    ///
    /// - Parameter request: The zone, and the marker of the page before.
    package func list(_ request: ListRecordsRequest) async throws -> QueryPage {
        try await call(.listRecords, request.wire(), needsUser: true) {
            try QueryPage(wireAnswer: $0, zoneID: request.zoneID)
        }
    }

    // MARK: Zones

    func listZones() async throws -> [ZoneOutcome] {
        try await call(.listZones, [], needsUser: true) { try [ZoneOutcome](wireAnswer: $0) }
    }

    func lookupZones(_ zones: [ZoneID]) async throws -> [ZoneOutcome] {
        let outcomes = try await call(.lookupZones, zones.wire(), needsUser: true) { try [ZoneOutcome](wireAnswer: $0) }
        return try counted(outcomes, zones.count)
    }

    /// Saves and deletes zones in one request; outcomes keep the order of the operations.
    package func modifyZones(_ operations: [ZoneOperation]) async throws -> [ZoneOutcome] {
        try checkZones(operations)
        // Saving a zone that exists changes nothing (B-ZN-06); deleting one that is gone is an error.
        let isRepeatable = operations.allSatisfy { if case .create = $0 { true } else { false } }
        let endpoint = isRepeatable ? CloudEndpoint.modifyZones.repeatable : .modifyZones
        let outcomes = try await call(endpoint, operations.wire(), needsUser: true) {
            try [ZoneOutcome](wireAnswer: $0)
        }
        return try counted(outcomes, operations.count)
    }

    // MARK: Changes

    /// One page of one zone's feed as it comes: sealed.
    func zonePage(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        let outcomes = try await call(.zoneChanges, [request].wire(), needsUser: true) {
            try [ZoneChangesOutcome](wireAnswer: $0)
        }
        switch outcomes.first {
        case .page(let page): return page
        case .failed(_, let refusal): throw CallFailure.refused(refusal)
        case nil: throw CallFailure.answerMalformed(status: 200)
        }
    }

    /// Reads a whole feed, from its beginning once more where a token expires between two pages.
    func readingAgain<Value>(_ read: () async throws -> Value) async throws -> Value {
        for _ in 1..<Self.readingsMax {
            do {
                return try await read()
            } catch CallFailure.refused(let failure) where failure.code == .changeTokenExpired {
                continue
            }
        }
        return try await read()
    }

    private static var readingsMax: Int { 3 }

    /// One page of the database's feed.
    package func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage {
        try await call(.databaseChanges, request.wire(), needsUser: true) { try DatabaseChangesPage(wireAnswer: $0) }
    }

    // MARK: Subscriptions

    func listSubscriptions() async throws -> [SubscriptionOutcome] {
        try await call(.listSubscriptions, [], needsUser: true) { try [SubscriptionOutcome](wireAnswer: $0) }
    }

    func lookupSubscriptions(_ ids: [String]) async throws -> [SubscriptionOutcome] {
        let outcomes = try await call(.lookupSubscriptions, SubscriptionLookup.wire(ids), needsUser: true) {
            try [SubscriptionOutcome](wireAnswer: $0)
        }
        return try counted(outcomes, ids.count)
    }

    /// Saves and deletes subscriptions in one request; outcomes keep the order of the operations.
    package func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [SubscriptionOutcome] {
        try checkSubscriptions(operations)
        // Saving twice has the same effect (B-SUB-05); deleting what does not exist is an error.
        let isRepeatable = operations.allSatisfy { if case .delete = $0 { false } else { true } }
        let endpoint = isRepeatable ? CloudEndpoint.modifySubscriptions.repeatable : .modifySubscriptions
        let outcomes = try await call(endpoint, operations.wire(), needsUser: true) {
            try [SubscriptionOutcome](wireAnswer: $0)
        }
        return try counted(outcomes, operations.count)
    }

    // MARK: Users

    /// The user's record name in this container.
    package func currentUser() async throws -> UserID {
        // The endpoint lives in the public database (docs/web-services.md §1.1).
        let requests = DatabaseRequests(
            connection: connection, scope: .public, settings: settings, longLivedRun: longLivedRun)
        return try await requests.call(.caller, [], needsUser: true) { try UserIdentity(wireAnswer: $0).user }
    }

    // MARK: -

    func call<Answer: Sendable>(
        _ endpoint: CloudEndpoint, _ body: [UInt8], needsUser: Bool, reading read: ([UInt8]) throws -> Answer
    ) async throws -> Answer {
        // Files are sent side by side and answered with receipts that expire: those are requested again.
        let ticket = endpoint.path.hasPrefix("assets/") ? nil : longLivedRun?.ticket(for: endpoint)
        if let ticket, let kept = longLivedRun?.answer(ticket), let answer = try? read(kept) { return answer }
        let call = CloudCall(
            cloud: connection.cloud, scope: scope, endpoint: endpoint, body: body, settings: settings,
            deadline: deadline, notes: ticket.flatMap { longLivedRun?.attempts(of: $0) })
        let bytes = try await call.answer(needsUser: needsUser)
        do {
            let answer = try read(bytes)
            if let ticket { longLivedRun?.keep(bytes, ticket) }
            return answer
        } catch {
            throw CallFailure.answerMalformed(status: 200)
        }
    }

    func counted<Outcome>(_ outcomes: [Outcome], _ count: Int) throws -> [Outcome] {
        guard outcomes.count == count else { throw CallFailure.answerMalformed(status: 200) }
        return outcomes
    }
}
