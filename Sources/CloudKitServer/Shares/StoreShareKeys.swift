import CloudKitModel
import CloudKitRecordLayer

/// Stores keys of a share.
package struct StoreShareKeys: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Stores keys of a share's epoch, or begins the next one: compare and set (B-TM-05, B-TM-06). With the next one, one of
    /// the zone begins.
    ///
    /// - Throws: `staleShareKeyEpoch`, also for an administrator's epoch that is not due; `badRequest` for one without a wrap
    ///   for the owner; `accessDenied` for others than its hosts; `itemNotFound` for a share that the caller
    ///   does not see.
    package func run(
        _ request: StoreShareKeysRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> ShareKeysAnswer {
        let place = try DatabaseAccess.sharesContext(
            request.zoneID, address: address, caller: caller, to: .writeRecords)
        let zoneName = try ZoneAccess.zoneName(of: request.zoneID, in: place)
        let now = cloud.serverEnvironment.now()
        try await ChangeShares(cloud).run(inZone: zoneName, of: place, at: 0) { view, access in
            guard let share = try await view.share(zone: access.zone.number, name: request.recordName) else {
                throw RequestFailure.recordNotFound
            }
            switch ShareAuthorization.verdict(.change, .share, for: access.standing(in: share.number)) {
            case .allow: break
            case .hide: throw RequestFailure.recordNotFound
            case .refuse, .leave: throw RequestFailure.writeNotPermitted
            }
            let decision = try ShareDecision(
                ShareChange(keys: request.change), of: share, ownedBy: place.owner, by: caller.user,
                zoneEpoch: access.zone.keyEpoch, now: now)
            return (
                [share],
                { writer, transaction in
                    try await writer.storeKeys(decision, before: share, &transaction)
                }
            )
        }
        return try await FetchShareKeys(cloud).run(
            ShareKeysRequest(zoneID: request.zoneID, recordName: request.recordName), in: address, by: caller)
    }
}

extension DatabaseAccess {
    /// Returns the place of a zone whose shares the caller asks for.
    static func sharesContext(
        _ id: ZoneID, address: DatabaseAddress, caller: Caller, to use: DatabaseUse
    ) throws(RequestFailure) -> DatabaseContext {
        guard address.scope != .public else { throw .notApplicable(in: .public) }
        return try DatabaseAccess.place(address, for: caller, to: use).reaching(id)
    }
}
