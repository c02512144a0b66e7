import CloudKitModel
import CloudKitRecordLayer

/// Reads the keys of a share.
package struct FetchShareKeys: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns the keys of a share that the caller may have, newest epochs first, and for its hosts the participants
    /// who wait for one.
    ///
    /// - Throws: `itemNotFound` for a share that the caller does not see.
    package func run(
        _ request: ShareKeysRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> ShareKeysAnswer {
        let place = try DatabaseAccess.sharesContext(request.zoneID, address: address, caller: caller, to: .readRecords)
        let zoneName = try ZoneAccess.zoneName(of: request.zoneID, in: place)
        var answer = try await cloud.store.read(place.partition) { view in
            let access = try await CallerAccess(try await view.zone(named: zoneName), in: place, view)
            guard let share = try await view.share(zone: access.zone.number, name: request.recordName),
                access.standing(in: share.number) != .none
            else { throw RequestFailure.recordNotFound }
            let shareView = ShareView(owner: place.owner, viewer: caller.user)
            let limit = ShareKeys.epochsShown
            let epochs = try await view.shareKeyEpochs(
                of: share, zone: access.zone.number, for: shareView, before: request.before, limit: limit)
            let waiting = shareView.waiting(in: share)
            let keys = ShareKeys(
                epoch: Int(share.keyEpoch), needsNewEpoch: shareView.isManager(of: share) && share.needsNewEpoch,
                waiting: waiting.map(\.id), epochs: epochs)
            return ShareKeysAnswer(keys: keys, waiting: waiting, moreComing: epochs.last.map { $0.epoch > 1 } ?? false)
        }
        for index in answer.waiting.indices {
            answer.waiting[index].identity = try await cloud.userDirectory.addingIdentity(
                to: answer.waiting[index].identity, withName: answer.waiting[index].acceptance == .accepted)
        }
        return answer
    }
}
