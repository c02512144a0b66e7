import CloudKitEncryption
import CloudKitModel

/// Compares the feed of a zone with what the account's other devices wrote about the zone.
extension DatabaseRequests {
    /// One page of one zone's feed, its records opened; with the last page, the states of the account's devices are compared with
    /// what this device has seen of the zone.
    ///
    /// - Throws: `CallFailure.tampered` where the cloud shows this device another history than the others.
    package func zoneChanges(_ request: ZoneChangesRequest) async throws -> OpenedChanges {
        try await opened(try await sealedChanges(request))
    }

    /// Fetches one page of one zone's feed as it comes; `opened(_:)` opens it.
    package func sealedChanges(_ request: ZoneChangesRequest) async throws -> SealedChanges {
        var request = request
        var exchange: ZoneExchange?
        if request.desiredRecordTypes == nil, !request.reverse {
            exchange = beginExchange(in: request.zoneID, isFeed: true)
            request.states = exchange?.request
        }
        return SealedChanges(request, try await zonePage(request), exchange, mark: versionsMark)
    }

    /// Fetches the page after one, while that is opened and handled.
    ///
    /// - Returns: nil if there is none, or if it has to be asked for in its turn: answers to an operation that outlives its process
    ///   are kept in the order of their requests, and a service that is not Welkin may limit how often it is asked.
    package func sealedChanges(after page: SealedChanges) async throws -> SealedChanges? {
        guard page.moreComing, longLivedRun == nil, connection.cloud.surface.isNative else { return nil }
        return try await sealedChanges(page.nextRequest)
    }

    /// Opens a page.
    ///
    /// - Throws: As `zoneChanges(_:)`.
    package func opened(_ changes: SealedChanges) async throws -> OpenedChanges {
        var requests = self
        requests.versionsMark = changes.mark
        let page = changes.page
        let opened = try await requests.opened(
            page, desiredKeys: changes.request.desiredKeys, exchange: changes.exchange)
        if let exchange = changes.exchange, !page.moreComing {
            try await requests.compare(page.states, exchange, in: page.zoneID)
        }
        return opened
    }

    /// Returns the request with the state of this device, if it is due.
    func withState(_ request: ModifyRecordsRequest) -> ModifyRecordsRequest {
        var request = request
        request.stateUpdate = beginExchange(in: request.zoneID, isFeed: false)?.request.update
        return request
    }

    /// nil: in this zone the account's devices keep no states, or this device has no keys.
    private func beginExchange(in zone: ZoneID, isFeed: Bool) -> ZoneExchange? {
        // Answers that were kept while the app did not run are of any age.
        guard connection.cloud.surface.isNative, scope == .private, !zone.isDefaultZone, longLivedRun == nil,
            let salt = connection.keys.salt(of: zone), let (key, epoch) = connection.keys.stateKey(of: zone)
        else { return nil }
        return connection.keys.zones.begin(
            salt, key: key, epoch: epoch, now: connection.cloud.clientEnvironment.milliseconds(), isFeed: isFeed)
    }

    /// Returns the incarnation of a zone in which the changes of a request that begins now are noted; nil: none are.
    func incarnation(of zone: ZoneID) -> String? {
        guard connection.cloud.surface.isNative, scope == .private, !zone.isDefaultZone, longLivedRun == nil,
            let salt = connection.keys.salt(of: zone)
        else { return nil }
        return connection.keys.zones.incarnation(of: salt)
    }

    /// Remembers what this device has saved, for the account's other devices.
    func note(saved outcomes: [ModifyItemOutcome], in zone: ZoneID, incarnation: String?) {
        guard let incarnation, !incarnation.isEmpty, let salt = connection.keys.salt(of: zone) else { return }
        let changes = outcomes.suffix(ZoneState.changesMax).compactMap { outcome -> StatedChange? in
            guard case .success(let opened?) = outcome.result, let version = opened.version else { return nil }
            return StatedChange(version, of: opened.record, in: salt)
        }
        connection.keys.zones.note(changes, in: salt, incarnation: incarnation)
    }

    // MARK: Comparing

    private func compare(_ states: ZoneStates?, _ exchange: ZoneExchange, in zone: ZoneID) async throws {
        guard let salt = connection.keys.salt(of: zone), let (key, _) = connection.keys.stateKey(of: zone) else {
            return
        }
        let history = ZoneHistory(
            salt: salt, key: key, memories: connection.keys.zones, versions: connection.keys.versions,
            mark: versionsMark)
        do {
            guard let claims = try history.claims(states, for: exchange), let states else { return }
            try connection.keys.met(claims.epoch, in: zone)
            if claims.disagreeing.isEmpty {
                history.accept(states, for: exchange)
            } else {
                try history.judge(
                    claims.disagreeing, by: try await evidence(in: zone, salt), states, for: exchange)
            }
        } catch let mismatch as ZoneHistory.Mismatch {
            throw CallFailure.tampered(
                "Zone '\(zone.zoneName)': the cloud shows this device another history than this account's other devices: "
                    + "\(mismatch)")
        }
    }

    /// Reads the whole feed of a zone, with the deletions.
    private func evidence(in zone: ZoneID, _ salt: ZoneSalt) async throws -> FeedEvidence {
        try await readingAgain { try await readEvidence(in: zone, salt) }
    }

    private func readEvidence(in zone: ZoneID, _ salt: ZoneSalt) async throws -> FeedEvidence {
        var evidence = FeedEvidence()
        var request = ZoneChangesRequest(zoneID: zone, desiredKeys: [])
        request.states = ZoneStatesRequest(reportsAllDeletions: true)
        var isDone = false
        while !isDone {
            try Task.checkCancellation()
            let page = try await zonePage(request)
            let records = page.events.compactMap { if case .changed(let record) = $0 { record } else { nil } }
            let deleted = page.events.compactMap { if case .deleted(let gone) = $0 { gone.recordName } else { nil } }
            for (record, opened) in zip(records, await opened(records, desiredKeys: [])) {
                let isOpened = if case .success = opened.values { true } else { false }
                let hasStatement = record.isStated || record.sharing?.newestKeys?.statement != nil
                let isReadable = isOpened && (opened.version != nil || !hasStatement)
                evidence.add(record, version: opened.version, isReadable: isReadable, in: salt)
            }
            for name in deleted { evidence.add(deleted: name, in: salt) }
            forget(deleted, in: zone)
            evidence.states = page.states
            request.syncToken = page.syncToken
            isDone = !page.moreComing
        }
        return evidence
    }
}
