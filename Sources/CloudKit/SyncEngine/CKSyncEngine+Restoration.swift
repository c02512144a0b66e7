import CloudKitClient

/// A cloud that was restored from a backup: it lacks what was saved after the moment of the backup.
extension CKSyncEngine {
    /// Sends before anything is fetched, so that the app does not take an older version for a newer one: what the cloud lost is sent as any other change,
    /// and conflicts are resolved by the app as always (B-SYN-09).
    ///
    /// - Parameter moment: The time of the state to which the cloud was restored; 0 if it is not known.
    func offerAgain(since moment: Int64, _ context: FetchChangesContext) async throws {
        let living = try await livingZones(context.options.operationGroup)
        let canMakeZones = database.scope == .private
        await post(
            nil,
            preparing: { state in
                state.offerAgain(since: moment, living: living, canMakeZones: canMakeZones)
                return true
            })
        for _ in 0..<Self.sendsMax where state.value.hasWork {
            do {
                try await send(SendChangesContext(reason: context.reason, options: .init()))
            } catch {
                // What the app has to correct waits in its new changes; everything else will be the same at the next attempt.
                let error = CKError.any(error)
                if Task.isCancelled || error.all.contains(where: \.endsSync) { throw error }
            }
        }
    }

    /// Sends until the app has no more corrections: an item that is unknown, then a conflict with another device, and its solution.
    private static let sendsMax = 4

    private func livingZones(_ group: CKOperationGroup) async throws(CKError) -> Set<CKRecordZone.ID> {
        var zones: Set<CKRecordZone.ID> = []
        var token: CKServerChangeToken?
        while true {
            do {
                let page = try await verifiedDatabase(group).databaseChanges(since: token)
                zones.formUnion(page.modifications.map(\.zoneID))
                zones.subtract(page.deletions.map(\.zoneID))
                token = page.changeToken
                guard page.moreComing else { return zones }
            } catch {
                throw CKError.any(error)
            }
        }
    }

    /// The epoch of the cloud's store and the time of the state with which it began, as the last answer named them.
    var storeEpoch: (name: String, restoredTo: Int64)? { database.connection.cloud.storeEpoch }

    /// The time of the state to which the cloud was restored since this engine saved its first changes, if it was.
    ///
    /// As long as no page of the database's feed was read, no token expires that would tell.
    var momentOfUnreadRestoration: Int64? {
        guard let first = state.value.firstEpoch, let present = storeEpoch, present.name != first else { return nil }
        return present.restoredTo
    }

    /// The time of this device's clock in milliseconds since 1970.
    var now: Int64 { database.connection.cloud.clientEnvironment.milliseconds() }
}
