import CloudKitEncryption
import CloudKitModel

extension DatabaseRequests {
    /// Opens the encrypted values of records that an answer carried, each record by itself: one that does not open leaves
    /// the others alone. Records without encrypted values cost nothing.
    func opened(_ records: [Record]) async -> [OpenedRecord] {
        guard scope != .public else { return records.map { OpenedRecord($0) } }
        var opening = RecordOpening()
        for zone in Set(records.lazy.filter(\.isSealed).map(\.id.zoneID)) {
            opening.keys[zone] = await zoneKeysIfAny(zone)
        }
        let opened = records.map { opening.opened($0) }
        for (keys, epoch) in opening.newest { try? connection.keys.epochs.met(epoch, in: keys) }
        return opened
    }

    /// A page of a feed with its records opened.
    ///
    /// - Throws: `CallFailure.keysMissing` where this device has no keys at all: whoever follows a feed must not pass over
    ///   what could be read later.
    func opened(_ page: ZoneChangesPage) async throws -> OpenedChanges {
        let records = page.events.compactMap { if case .changed(let record) = $0 { record } else { nil } }
        if records.contains(where: \.isSealed) { _ = try await zoneKeys(page.zoneID) }
        return OpenedChanges(page, records: await opened(records))
    }

    /// The keys of a zone.
    ///
    /// - Throws: `CallFailure`, `.keysMissing` where this device has none.
    func zoneKeys(_ zone: ZoneID) async throws -> ZoneKeys {
        try await connection.keys.keys(of: zone, in: scope) { try await currentUser() }
    }

    private func zoneKeysIfAny(_ zone: ZoneID) async -> Result<ZoneKeys, CallFailure> {
        do {
            return .success(try await zoneKeys(zone))
        } catch {
            return .failure(CallFailure(error))
        }
    }

    /// A zone as the cloud answered it; one whose key epoch went back is refused: the cloud would have this device seal for
    /// those who lost access.
    func verified(_ zone: Zone) -> Result<Zone, CallFailure> {
        guard scope == .private else { return .success(zone) }
        do throws(CallFailure) {
            try connection.keys.see(zone)
            return .success(zone)
        } catch {
            // What is wrong with the profile's own file is told when something has to be sealed.
            if case .tampered = error { return .failure(error) }
            return .success(zone)
        }
    }
}

/// Opens the records of one answer.
private struct RecordOpening {
    var keys: [ZoneID: Result<ZoneKeys, CallFailure>] = [:]
    /// The newest epoch in which a value opened, by zone: somebody with the zone's key has used it.
    private(set) var newest: [ZonePlace: UInt32] = [:]

    mutating func opened(_ record: Record) -> OpenedRecord {
        guard record.isSealed, let keys = keys[record.id.zoneID] else { return OpenedRecord(record) }
        switch keys.flatMap({ keys in fields(of: record, keys) }) {
        case .success(let (values, secrets)):
            return OpenedRecord(record, values: .success(values), assetSecrets: secrets)
        case .failure(let failure): return OpenedRecord(record, values: .failure(failure))
        }
    }

    private mutating func fields(
        of record: Record, _ keys: ZoneKeys
    ) -> Result<([Field], [AssetSlot: AssetSecret]), CallFailure> {
        do {
            let cipher = try keys.cipher(opening: record)
            var fields: [Field] = []
            for field in record.fields where field.type.isEncrypted { fields.append(try cipher.open(field)) }
            let secrets = try record.assetSecrets(cipher.sealer)
            newest[keys.place] = max(newest[keys.place] ?? 0, cipher.protection.epoch)
            return .success((fields, secrets))
        } catch let error as EncryptionError {
            return .failure(CallFailure(error, record: record.id.recordName))
        } catch {
            return .failure(CallFailure(error))
        }
    }
}
