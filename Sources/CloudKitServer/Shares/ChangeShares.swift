import CloudKitModel
import CloudKitRecordLayer

/// Makes a decided change of shares inside a transaction.
typealias ShareMutation = (inout ChangeWriter, inout StorageWriter) async throws -> Void

/// Changes shares of a zone in other ways than by saving their records.
struct ChangeShares: Sendable {
    let cloud: Cloud

    init(_ cloud: Cloud) { self.cloud = cloud }

    /// Changes shares of a zone other than by saving their records: accepting, leaving, storing keys, asking for
    /// access.
    ///
    /// - Parameters:
    ///   - position: The position of the change in its request, which is not made again by a repetition; nil: it may be made twice.
    ///   - others: Further partitions that `change` writes to.
    ///   - decide: Reads and decides; returns the shares that will change and their change. Nothing is written before
    ///     it returns.
    /// - Throws: The zone's failures for the caller, and those that `decide` throws.
    @discardableResult
    func run(
        inZone name: String, of place: DatabaseContext, at position: Int? = nil, with others: [StoragePartition] = [],
        _ decide: @Sendable (StorageWriter, CallerAccess) async throws -> ([StoredShare], ShareMutation)
    ) async throws -> [StoredShare] {
        let batch = ChangeBatch(
            items: [], place: place, zoneName: name, wantsAtomic: true, clientChangeToken: nil, limits: cloud.limits,
            now: cloud.serverEnvironment.now())
        var partitions = [place.partition]
        for partition in others where !partitions.contains(partition) { partitions.append(partition) }
        try await cloud.registry.renewWorkPromise(in: place.partition, now: batch.now)
        for _ in 0..<Self.shareAttemptsMax {
            let schema = try await cloud.schemas.current(place.schemaPartition)
            let changed = try await cloud.writeNotifying(partitions) {
                transaction, pendingNotifications -> [StoredShare]? in
                let attempt = position == nil ? nil : place.caller.attempt
                var memory = RequestMemory(of: attempt, by: place.caller.user, now: batch.now)
                let headers = try await transaction.headers(zoneNamed: name, reading: &memory)
                if memory.isOvertaken { throw RequestFailure.overtakenAttempt }
                try place.checkKeys(headers.database)
                // The change was made when the request was sent before (B-THR-07).
                if let position, memory.version(at: position) != nil { return [] }
                guard headers.database.schemaFloor <= schema.version else { return nil }
                let access = try await CallerAccess(headers.zone, in: place, transaction)
                let (shares, change) = try await decide(transaction, access)
                if shares.isEmpty { return [] }
                var sharing = try await SharePlanner(batch, access: access, database: headers.database, transaction)
                try await sharing.loadShares(shares.map(\.name), transaction)
                var writer = ChangeWriter(
                    batch: batch, database: headers.database, zone: access.zone, schema: schema, shares: sharing,
                    pendingNotifications: pendingNotifications)
                try await change(&writer, &transaction)
                try await writer.finish(&transaction)
                if let position { memory.keep([position: headers.database.version], &transaction) }
                return shares
            }
            if let changed { return changed }
        }
        throw RequestFailure(.zoneBusy, "the schema keeps changing", remedy: "Try again.", retryAfter: 1)
    }

    private static var shareAttemptsMax: Int { 8 }
}
