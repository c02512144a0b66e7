import CloudKitModel
import CloudKitServer

/// The cloud with its answers logged in the trail and its writers recorded.
struct ObservedCloud {
    let cloud: Cloud
    let trail: Trail
    let writers: Writers

    func modifyRecords(
        _ request: ModifyRecordsRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> [RecordOutcome] {
        writers.add(caller, in: request.zoneID.owner)
        return try await trail.answer(\.trace) { try await ModifyRecords(cloud).run(request, in: address, by: caller) }
    }

    func lookupRecords(
        _ request: LookupRecordsRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> [RecordOutcome] {
        try await trail.answer(\.trace) { try await LookupRecords(cloud).run(request, in: address, by: caller) }
    }

    func modifyZones(
        _ operations: [ZoneOperation], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ZoneOutcome] {
        writers.add(caller, in: operations.map(\.zoneID.owner))
        return try await trail.answer(\.trace) { try await ModifyZones(cloud).run(operations, in: address, by: caller) }
    }

    func lookupZones(
        _ ids: [ZoneID], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ZoneOutcome] {
        try await trail.answer(\.trace) { try await LookupZones(cloud).run(ids, in: address, by: caller) }
    }

    func listZones(in address: DatabaseAddress, by caller: Caller) async throws -> [Zone] {
        try await trail.answer(\.trace) { try await ListZones(cloud).run(in: address, by: caller) }
    }

    func databaseChanges(
        _ request: DatabaseChangesRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> DatabaseChangesPage {
        try await trail.answer(\.trace) { try await FetchDatabaseChanges(cloud).run(request, in: address, by: caller) }
    }

    func zoneChanges(
        _ requests: [ZoneChangesRequest], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ZoneChangesOutcome] {
        try await trail.answer(\.trace) { try await FetchZoneChanges(cloud).run(requests, in: address, by: caller) }
    }

    /// - Parameter owner: The owner of the share.
    func acceptShares(
        _ requests: [ShareInvitationRequest], of owner: UserID, in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ShareInvitationOutcome] {
        writers.add(caller, in: owner)
        return try await trail.answer(\.trace) { try await AcceptShares(cloud).run(requests, in: address, by: caller) }
    }

    /// - Parameter owner: The owner of the share.
    func requestAccess(
        _ requests: [ShareInvitationRequest], of owner: UserID, in address: DatabaseAddress, by caller: Caller
    ) async throws -> [RequestFailure?] {
        writers.add(caller, in: owner)
        return try await trail.answer(
            { $0.map(\.trace).description },
            { try await RequestShareAccess(cloud).run(requests, in: address, by: caller) })
    }

    func storeShareKeys(
        _ request: StoreShareKeysRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> ShareKeysAnswer {
        writers.add(caller, in: request.zoneID.owner)
        return try await trail.answer(\.keys.trace) {
            try await StoreShareKeys(cloud).run(request, in: address, by: caller)
        }
    }

    func queryRecords(
        _ request: QueryRecordsRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> QueryPage {
        try await trail.answer(\.trace) { try await QueryRecords(cloud).run(request, in: address, by: caller) }
    }
}
