import CloudKitModel
import CloudKitRecordLayer

extension Cloud {
    /// The keys of a share as far as the caller may have them, newest epochs first, and for its hosts who waits for one.
    ///
    /// - Throws: `itemNotFound` for a share that the caller does not see.
    package func shareKeys(
        _ request: ShareKeysRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> ShareKeysAnswer {
        let place = try sharesPlace(request.zoneID, address, caller, to: .readRecords)
        let zoneName = try ZoneAccess.zoneName(of: request.zoneID, in: place)
        var answer = try await store.read(place.partition) { view in
            let reach = try await ShareReach(try await view.zone(named: zoneName), in: place, view)
            guard let share = try await view.share(zone: reach.zone.number, name: request.recordName),
                reach.standing(in: share.number) != .none
            else { throw RequestFailure.recordNotFound }
            let shareView = ShareView(owner: place.owner, viewer: caller.user)
            let limit = ShareKeys.epochsShown
            let epochs = try await view.shareKeyEpochs(
                of: share, zone: reach.zone.number, for: shareView, before: request.before, limit: limit)
            let waiting = shareView.waiting(in: share)
            let keys = ShareKeys(
                epoch: Int(share.keyEpoch), needsNewEpoch: shareView.isHost(of: share) && share.needsNewEpoch,
                waiting: waiting.map(\.id), epochs: epochs)
            return ShareKeysAnswer(keys: keys, waiting: waiting, moreComing: epochs.last.map { $0.epoch > 1 } ?? false)
        }
        for index in answer.waiting.indices {
            answer.waiting[index].identity = try await userDirectory.addingIdentity(
                to: answer.waiting[index].identity, withName: answer.waiting[index].acceptance == .accepted)
        }
        return answer
    }

    /// Stores keys of a share's epoch, or begins the next one: compare and set (B-TM-05, B-TM-06). With the next one, one of
    /// the zone begins.
    ///
    /// - Throws: `staleShareKeyEpoch`, also for an administrator's epoch that is not due; `badRequest` for one without a wrap
    ///   for the owner; `accessDenied` for others than its hosts; `itemNotFound` for a share that the caller
    ///   does not see.
    package func storeShareKeys(
        _ request: StoreShareKeysRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> ShareKeysAnswer {
        let place = try sharesPlace(request.zoneID, address, caller, to: .writeRecords)
        let zoneName = try ZoneAccess.zoneName(of: request.zoneID, in: place)
        let now = serverEnvironment.now()
        try await changeShares(inZone: zoneName, of: place) { view, reach in
            guard let share = try await view.share(zone: reach.zone.number, name: request.recordName) else {
                throw RequestFailure.recordNotFound
            }
            switch ShareAccess.verdict(.change, .share, for: reach.standing(in: share.number)) {
            case .allow: break
            case .hide: throw RequestFailure.recordNotFound
            case .refuse, .leave: throw RequestFailure.writeNotPermitted
            }
            let decision = try ShareDecision(
                ShareChange(keys: request.change), of: share, ownedBy: place.owner, by: caller.user,
                zoneEpoch: reach.zone.keyEpoch, now: now)
            return (
                [share],
                { writing, transaction in
                    try await writing.storeKeys(decision, before: share, &transaction)
                }
            )
        }
        return try await shareKeys(
            ShareKeysRequest(zoneID: request.zoneID, recordName: request.recordName), in: address, by: caller)
    }

    private func sharesPlace(
        _ id: ZoneID, _ address: DatabaseAddress, _ caller: Caller, to use: DatabaseUse
    ) throws(RequestFailure) -> DatabasePlace {
        guard address.scope != .public else { throw .notApplicable(in: .public) }
        return try DatabaseAccess.place(address, for: caller, to: use).reaching(id)
    }
}
