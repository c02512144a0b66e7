import CloudKitEncryption
import CloudKitModel

extension DatabaseRequests {
    /// Opens the encrypted values of the records of a response, each on its own: one that does not open leaves the
    /// others unaffected. Records without encrypted values cost nothing.
    package func opened(_ records: [Record]) async -> [OpenedRecord] {
        guard scope != .public else { return records.map { OpenedRecord($0) } }
        let records = await maintained(records)
        var opening = RecordOpener()
        for zone in Set(records.lazy.filter { $0.isSealed || $0.sharing != nil }.map(\.id.zoneID)) {
            opening.take(
                await zoneKeysIfAny(zone, for: records.filter { $0.id.zoneID == zone }), for: zone)
        }
        var opened = await opening.opened(all: records)
        for index in opened.indices where opened[index].record.sharing != nil {
            let record = opened[index].record
            opened[index].link = link(of: record, opening.keys[record.id.zoneID])
        }
        for (keys, epoch) in opening.newest { try? connection.keys.epochs.met(epoch, in: keys) }
        return opened
    }

    /// Returns the zone's keys with everything needed to open these records.
    private func zoneKeysIfAny(_ zone: ZoneID, for records: [Record]) async -> Result<ZoneKeys, CallFailure> {
        do {
            return .success(await completed(try await zoneKeys(zone), for: records, in: zone))
        } catch {
            return .failure(CallFailure(error))
        }
    }

    /// Fetches the records and shares that the known keys lack to open records: their ancestors, and the shares that
    /// hold their keys.
    func completed(_ known: ZoneKeys, for records: [Record], in zone: ZoneID) async -> ZoneKeys {
        var keys = known
        keys.shared.refusal = nil
        take(records, into: &keys)
        let overtaken = keys.shared.overtaken
        if !overtaken.isEmpty, records.contains(where: { overtaken.contains($0.id.recordName) }) {
            // A cloud that goes back in time shows the earlier statement again.
            take((try? await looked(at: overtaken, in: zone, desiredKeys: [])) ?? [], into: &keys)
        }
        return await completed(keys, toOpen: records.filter(\.isSealed), in: zone)
    }

    /// The same for records that the keys have learned of.
    func completed(_ known: ZoneKeys, toOpen sealed: [Record], in zone: ZoneID) async -> ZoneKeys {
        var keys = known
        var asked = Set(sealed.map(\.id.recordName))
        for _ in 0..<TreeKeys.depthMax {
            let missing = keys.missing(for: sealed).subtracting(asked).sorted().prefix(RequestLimits.itemsMax)
            if missing.isEmpty { break }
            asked.formUnion(missing)
            guard let found = try? await looked(at: missing, in: zone, desiredKeys: []) else { break }
            take(found, into: &keys)
            let names = Set(found.map(\.id.recordName))
            for name in missing where !names.contains(name) { keys.shared.learn(nil, of: name) }
        }
        connection.keys.keep(keys)
        return keys
    }

    func take(_ records: [Record], into keys: inout ZoneKeys) {
        for record in records where record.sharing != nil {
            do throws(CallFailure) {
                keys = try opened(record, with: keys)
            } catch {
                keys.shared.refusal = error
            }
        }
        keys.learn(records)
    }

    /// One page of one zone's feed, its records opened.
    package func zoneChanges(_ request: ZoneChangesRequest) async throws -> OpenedChanges {
        try await opened(try await zonePage(request))
    }

    /// Opens the records of a page of a feed.
    ///
    /// - Throws: `CallFailure.keysMissing` where this device has no keys at all: a reader of a feed must not pass over
    ///   records that can be opened later.
    package func opened(_ page: ZoneChangesPage) async throws -> OpenedChanges {
        let records = page.events.compactMap { if case .changed(let record) = $0 { record } else { nil } }
        if records.contains(where: \.isSealed) { _ = try await zoneKeys(page.zoneID) }
        let opened = await opened(records)
        if scope == .shared {
            // Without any key of the zone's shares the page waits: it opens when a key has arrived.
            for case .failure(.waitingForKey(let reason)) in opened.map(\.values)
            where try await zoneKeys(page.zoneID).shared.isWaiting {
                throw CallFailure.waitingForKey(reason)
            }
        }
        return OpenedChanges(page, records: opened, in: address)
    }

    /// The keys of a zone.
    ///
    /// - Throws: `CallFailure`, `.keysMissing` where this device has none.
    func zoneKeys(_ zone: ZoneID) async throws -> ZoneKeys {
        try await connection.keys.keys(of: zone, in: scope) { try await currentUser() }
    }

    /// Checks a zone of a response; one whose key epoch decreased is refused: the cloud would make this device seal for
    /// users who lost access.
    func verified(_ zone: Zone) -> Result<Zone, CallFailure> {
        guard scope != .public else { return .success(zone) }
        do throws(CallFailure) {
            try connection.keys.see(zone)
            return .success(zone)
        } catch {
            // A failure of the profile's own file is reported when values have to be sealed.
            if case .tampered = error { return .failure(error) }
            return .success(zone)
        }
    }
}

/// Opens the records of one answer.
private struct RecordOpener {
    private(set) var keys: [ZoneID: ZoneKeys] = [:]
    private var failures: [ZoneID: CallFailure] = [:]
    /// The newest epoch in which a value opened, by zone: a holder of the zone's key has used it.
    private(set) var newest: [ZoneAddress: UInt32] = [:]

    mutating func take(_ result: Result<ZoneKeys, CallFailure>, for zone: ZoneID) {
        switch result {
        case .success(let found): keys[zone] = found
        case .failure(let failure): failures[zone] = failure
        }
    }

    /// Opens many: those of a large answer in two halves, side by side.
    mutating func opened(all records: [Record]) async -> [OpenedRecord] {
        guard records.count >= Self.parallelOpeningMin else { return records.map { opened($0) } }
        let middle = records.count / 2
        async let first = part(records[..<middle])
        async let second = part(records[middle...])
        let parts = await (first, second)
        newest.merge(parts.0.newest) { max($0, $1) }
        newest.merge(parts.1.newest) { max($0, $1) }
        return parts.0.records + parts.1.records
    }

    /// Fewer are opened faster than a task begins.
    private static let parallelOpeningMin = 32

    private func part(_ records: ArraySlice<Record>) async -> (records: [OpenedRecord], newest: [ZoneAddress: UInt32]) {
        var opening = self
        return (records.map { opening.opened($0) }, opening.newest)
    }

    private mutating func opened(_ record: Record) -> OpenedRecord {
        if record.sharing != nil,
            let refusal = keys[record.id.zoneID]?.shared.distrusted[record.id.recordName]
        {
            return OpenedRecord(record, values: .failure(CallFailure(refusal, record: record.id.recordName)))
        }
        guard record.isSealed else { return OpenedRecord(record) }
        if let failure = failures[record.id.zoneID] { return OpenedRecord(record, values: .failure(failure)) }
        switch fields(of: record) {
        case .success(let (values, secrets)):
            return OpenedRecord(record, values: .success(values), assetSecrets: secrets)
        case .failure(let failure): return OpenedRecord(record, values: .failure(failure))
        }
    }

    private mutating func fields(of record: Record) -> Result<([Field], [AssetSlot: AssetSecret]), CallFailure> {
        let (zone, name) = (record.id.zoneID, record.id.recordName)
        do {
            // In place: the keys of a large tree are not copied for each of its records.
            guard let cipher = try keys[zone]?.cipher(opening: record), let place = keys[zone]?.place else {
                throw EncryptionError.noKey(.recordKey(record: name))
            }
            var fields: [Field] = []
            for field in record.fields where field.type.isEncrypted { fields.append(try cipher.open(field)) }
            let secrets = try record.assetSecrets(cipher.sealer)
            newest[place] = max(newest[place] ?? 0, cipher.protection.epoch)
            return .success((fields, secrets))
        } catch let error as EncryptionError {
            return .failure(keys[zone]?.failure(error, record: name) ?? CallFailure(error, record: name))
        } catch {
            return .failure(CallFailure(error))
        }
    }
}
