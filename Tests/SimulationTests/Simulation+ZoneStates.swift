import CloudKitEncryption
import CloudKitModel

@testable import CloudKitClient

/// The states that the devices of a user write about zones for one another: they find nothing wrong with an honest cloud.
extension Simulation {
    /// Returns the memory of one of the user's own zones.
    func history(of place: Place, on index: Int) -> ZoneHistory? {
        guard devices[index].person == place.owner else { return nil }
        let keys = devices[index].keys
        let address = zoneAddress(place)
        let root = keys.access.root
        return ZoneHistory(
            salt: root.salt(of: address), key: root.stateKey(of: address), memories: keys.files.memories,
            versions: keys.files.versions, mark: keys.files.versions.mark)
    }

    /// Begins a request of a device.
    func exchange(of place: Place, on index: Int, isFeed: Bool) -> ZoneExchange? {
        guard let history = history(of: place, on: index) else { return nil }
        let epoch = devices[index].keys.files.epochs.epoch(of: zoneAddress(place)) ?? 0
        return history.memories.begin(
            history.salt, key: history.key, epoch: epoch, now: world.time.now, isFeed: isFeed)
    }

    /// Takes a page of a feed, and compares the states with the last one.
    func compare(_ page: ZoneChangesPage, of place: Place, _ exchange: ZoneExchange?, on index: Int) async throws {
        guard let history = history(of: place, on: index), let exchange else { return }
        _ = try learn(page, history, incarnation: exchange.incarnation)
        if page.moreComing { return }
        do {
            guard let claims = try history.claims(page.states, for: exchange), let states = page.states else { return }
            for state in states.states where !state.bytes.isEmpty && state.device != exchange.device {
                statesCompared += 1
            }
            let epoch = try await epoch(of: place, on: index)
            try check(claims.epoch <= epoch, "another device saw epoch \(claims.epoch) of \(place), which has \(epoch)")
            if claims.disagreeing.isEmpty {
                history.accept(states, for: exchange)
            } else {
                statesJudged += 1
                try history.judge(
                    claims.disagreeing, by: try await evidence(of: place, history, on: index), states, for: exchange)
            }
        } catch let mismatch as ZoneHistory.Mismatch {
            throw Violation("\(devices[index].name) takes the cloud for a liar about \(place): \(mismatch)")
        }
    }

    private func epoch(of place: Place, on index: Int) async throws -> UInt32 {
        let device = devices[index]
        let outcome = try await cloud.lookupZones(
            [zoneID(place, for: device)], in: address(place, for: device), by: device.caller)[0]
        if case .zone(let zone) = outcome { return zone.keyEpoch }
        return .max
    }

    /// Reads the whole feed with its deletions, as the framework does.
    private func evidence(of place: Place, _ history: ZoneHistory, on index: Int) async throws -> FeedEvidence {
        var evidence = FeedEvidence()
        let states = ZoneStatesRequest(reportsAllDeletions: true)
        var token: String?
        while true {
            let answer = try await page(
                of: place, since: token, limit: 3, states: states, for: devices[index])
            guard case .done(let page) = answer else { throw Violation("the feed of \(place) has no evidence") }
            for (record, version, isReadable) in try learn(page, history, incarnation: nil) {
                evidence.add(record, version: version, isReadable: isReadable, in: history.salt)
            }
            for case .deleted(let gone) in page.events {
                evidence.add(deleted: gone.recordName, in: history.salt)
            }
            evidence.states = page.states
            token = page.syncToken
            if !page.moreComing { return evidence }
        }
    }

    /// Remembers the versions and deletions of a page.
    private func learn(
        _ page: ZoneChangesPage, _ history: ZoneHistory, incarnation: String?
    ) throws -> [(Record, StatedVersion?, isReadable: Bool)] {
        let records = try page.events.compactMap { event -> (Record, StatedVersion?)? in
            guard case .changed(let record) = event else { return nil }
            return (record, try record.statedVersion)
        }
        let mark = history.versions.mark
        let failures = history.versions.see(
            records.map { (name: $0.0.id.recordName, version: $0.1) }, in: history.salt, since: mark
        ).failures
        let deleted = page.events.compactMap { event in
            if case .deleted(let gone) = event { gone.recordName } else { nil }
        }
        let deletions = history.versions.forget(deleted, in: history.salt, since: history.versions.mark)
        if let incarnation { history.memories.note(deletions, in: history.salt, incarnation: incarnation) }
        return records.map { ($0.0, $0.1, failures[$0.0.id.recordName] == nil) }
    }

    /// Remembers what a device saved.
    func note(saved records: [Record], in place: Place, on index: Int) throws {
        guard let history = history(of: place, on: index) else { return }
        let stated = try records.compactMap { record in try record.statedVersion.map { (record, $0) } }
        _ = history.versions.see(
            stated.map { (name: $0.0.id.recordName, version: $0.1) }, in: history.salt, since: history.versions.mark)
        history.memories.note(
            stated.map { StatedChange($0.1, of: $0.0, in: history.salt) }, in: history.salt,
            incarnation: history.memories.incarnation(of: history.salt))
    }

    /// Remembers what a device deleted.
    func note(deleted name: String, in place: Place, on index: Int) {
        guard let history = history(of: place, on: index) else { return }
        history.memories.note(
            history.versions.forget([name], in: history.salt, since: history.versions.mark), in: history.salt,
            incarnation: history.memories.incarnation(of: history.salt))
    }
}

extension Record {
    fileprivate var statedVersion: StatedVersion? {
        get throws {
            guard let statement = protection?.statement, !statement.isEmpty else { return nil }
            return StatedVersion(try RecordStatement(statement))
        }
    }
}
