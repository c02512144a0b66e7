import CloudKitModel

extension DatabaseRequests {
    /// Saves and deletes records of one zone, sealing what has to be sealed.
    ///
    /// When the cloud says that keys have changed, the epoch of the zone is learned, the records concerned are fetched, all
    /// their values are sealed again, and everything is sent again.
    ///
    /// - Parameter rekeysTrees: Whether what lies below records that enter a share's tree is sealed again before, where that is
    ///   due.
    func sealAndSend(_ batch: ModifyPlan.Batch, rekeysTrees: Bool = true) async throws -> [BatchSealer.Outcome] {
        var outcomes = try await sealAndSendOnce(batch, rekeysTrees: rekeysTrees)
        for _ in 1..<Self.sealingsMax {
            // Another device made the share's next statement: this one's follows it.
            let stale = batch.staleShares(outcomes)
            if stale.isEmpty { break }
            var again = batch
            again.items = stale.map { batch.items[$0] }
            let later = try await sealAndSendOnce(again, rekeysTrees: rekeysTrees)
            for (index, outcome) in zip(stale, later) { outcomes[index] = outcome }
        }
        return outcomes
    }

    private func sealAndSendOnce(
        _ batch: ModifyPlan.Batch, rekeysTrees: Bool
    ) async throws -> [BatchSealer.Outcome] {
        guard var keys = try await sealingKeys(batch) else {
            return try await send(batch.request).map { .success($0) }
        }
        if keys.isOwn, batch.beginsShares {
            let zone = batch.zoneID
            keys = try await newestKeys(of: zone)
            try await rekey(treesOf: Set(batch.begunShares.keys), in: zone, sparing: batch.savedNames, keys)
        }
        if keys.isOwn, rekeysTrees { keys = try await rekey(treesMovedBy: batch, keys) }
        let batch = try begun(try await stated(batch, &keys), &keys)
        let renumberedUntil = connection.cloud.restorations.claimed.renumberedUntil
        var sealing = BatchSealer(
            batch, firstVersion: firstVersion(of: batch, keys, renumberedUntil: renumberedUntil),
            renumberedUntil: renumberedUntil,
            comparesAnswers: longLivedRun == nil)
        do {
            try await sendSealed(&sealing, with: keys, to: batch.zoneID)
            if batch.savesShares { connection.keys.forgetTreeCheck(of: batch.zoneID) }
        } catch {
            // Records that the cloud has already saved must not be reported as failed.
            guard sealing.hasSettled else { throw error }
            sealing.fail(CallFailure(error))
        }
        return sealing.outcomes
    }

    /// Returns the version of records that have no statement yet: the time, or above every version that they had.
    ///
    /// In a restored cloud it is also the next version of older records.
    private func firstVersion(of batch: ModifyPlan.Batch, _ keys: ZoneKeys, renumberedUntil: UInt64) -> UInt64 {
        let names = batch.items.lazy.filter {
            $0.secrets != nil && (renumberedUntil > 0 || $0.secrets?.held == nil)
        }.map(\.id.recordName)
        return max(
            UInt64(clamping: connection.cloud.clientEnvironment.milliseconds()),
            connection.keys.versions.highest(of: names, in: keys.salt, since: versionsMark) + 1)
    }

    private func sendSealed(_ sealing: inout BatchSealer, with keys: ZoneKeys, to zone: ZoneID) async throws {
        var keys = try await placed(keys, sealing.batch)
        for attempt in 0..<Self.sealingsMax {
            var next = await sealing.request(keys)
            if next == nil, !sealing.wanted.isEmpty {
                sealing.look(at: try await current(sealing.wanted, in: zone))
                next = await sealing.request(keys)
            }
            guard let request = next else { return }
            let stale = sealing.take(try await send(request))
            if stale.isEmpty { return }
            var newest = try await newestKeys(of: zone)
            if attempt > 0, sealing.wantsNewKeys, newest.isOwn, newest.epoch == keys.epoch {
                // Everything was sealed again, but not under a new key: other users have the key of this epoch.
                try await raiseKeyEpoch(of: zone)
                newest = try await zoneKeys(zone)
            }
            keys = try await placed(newest, sealing.batch)
            sealing.look(at: try await current(stale, in: zone))
        }
        sealing.giveUp()
    }

    /// A device that keeps meeting other writers gives up in the end; the app then sees the last refusal.
    private static var sealingsMax: Int { 4 }

    /// nil: there is nothing to seal, or nothing that cannot do without it.
    private func sealingKeys(_ batch: ModifyPlan.Batch) async throws -> ZoneKeys? {
        guard connection.cloud.surface.isNative, batch.hasSecrets || batch.savesShares else { return nil }
        do {
            return try await zoneKeys(batch.zoneID)
        } catch  where !batch.items.contains(where: { $0.secrets?.needsKeys ?? false }) {
            return nil
        }
    }

    /// The keys of a zone in the epoch that the cloud says it has now.
    func newestKeys(of zone: ZoneID) async throws -> ZoneKeys {
        for (_, result) in try await zones([zone]) { _ = try result.get() }
        return try await zoneKeys(zone)
    }

    /// The records as the cloud holds them, those that there are.
    private func current(_ names: [String], in zone: ZoneID) async throws -> [OpenedRecord] {
        await opened(try await looked(at: names, in: zone))
    }

    /// Begins a new key epoch in one of the user's own zones: users who lost access cannot read values sealed from now
    /// on (B-TM-05). An epoch that another device began first serves as well.
    package func raiseKeyEpoch(of zone: ZoneID) async throws {
        let known = try await newestKeys(of: zone).epoch
        let outcome = try await modifyZones([.raiseKeyEpoch(zone, to: known &+ 1)]).first
        guard case .failed(_, let failure)? = outcome else { return }
        guard failure.code == .staleKeyEpoch else { throw CallFailure.refused(failure) }
        _ = try await newestKeys(of: zone)
    }
}

extension ModifyPlan.Batch {
    /// Returns the positions of items to send again because a share's keys have changed since: all of a batch whose items take
    /// effect together.
    fileprivate func staleShares(_ outcomes: [BatchSealer.Outcome]) -> [Int] {
        let stale = zip(items, outcomes).enumerated().compactMap { index, pair -> Int? in
            guard pair.0.operation.change.share != nil, case .success(.failed(_, let failure)) = pair.1,
                failure.code == .staleShareKeyEpoch
            else { return nil }
            return index
        }
        return wantsAtomic && !stale.isEmpty ? Array(items.indices) : stale
    }
}
