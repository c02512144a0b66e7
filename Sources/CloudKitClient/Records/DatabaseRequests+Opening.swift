import CloudKitEncryption
import CloudKitModel

extension DatabaseRequests {
    /// Opens the encrypted values of the records of a response, each on its own: one that does not open leaves the
    /// others unaffected. Records without encrypted values cost nothing.
    ///
    /// - Parameter desiredKeys: The names of the fields that were asked for; nil: all. Only others may be missing.
    package func opened(_ records: [Record], desiredKeys: [String]? = nil) async -> [OpenedRecord] {
        await opened(records, wanted: Array(repeating: desiredKeys.map(Set.init), count: records.count))
    }

    /// - Parameter wanted: For each record the names of the fields that were asked for; nil: all.
    func opened(_ records: [Record], wanted: [Set<String>?]) async -> [OpenedRecord] {
        guard scope != .public else { return records.map { OpenedRecord($0) } }
        guard connection.cloud.surface.isNative else { return records.map(openedByWebServices) }
        let records = await maintained(records)
        var opening = RecordOpener()
        for zone in records.zonesWithKeys {
            // A page of a feed has one zone.
            let isWhole = records.allSatisfy { $0.id.zoneID == zone }
            let own = isWhole ? records : records.filter { $0.id.zoneID == zone }
            opening.take(await zoneKeysIfAny(zone, for: own), for: zone)
        }
        var opened = await opening.opened(all: records, wanted: wanted)
        checkVersions(of: &opened, stated: records.map(\.isStated), opening.keys)
        for index in opened.indices where opened[index].record.sharing != nil {
            let record = opened[index].record
            opened[index].link = link(of: record, opening.keys[record.id.zoneID])
            if let failure = await verifyIdentities(of: record) { opened[index].values = .failure(failure) }
            let name = record.id.recordName
            if case .failure(let failure) = opened[index].values,
                opening.keys[record.id.zoneID]?.shared.distrusted[name]?.isOfEarlierState == true
            {
                opened[index].values = .failure(
                    connection.cloud.restorations.failure(
                        failure, of: "Record '\(name)'", listedAs: "\(record.id.zoneID.zoneName)/\(name)"))
            }
        }
        for (zone, epoch) in opening.newest {
            if let place = opening.keys[zone]?.place { try? connection.keys.epochs.met(epoch, in: place) }
        }
        return opened
    }

    /// Returns a record of documented web services: this device has no keys, so one with sealed values does not open.
    private func openedByWebServices(_ record: Record) -> OpenedRecord {
        let sealed = record.fields.first { $0.type.isEncrypted || $0.holdsSealedFile }
        var opened = OpenedRecord(record)
        if let sealed {
            opened.values = .failure(
                .beyondWebServices(
                    "Field '\(sealed.name)': it is encrypted, and web services give this device no keys"))
        }
        opened.link = link(of: record, nil)
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
        await take(records, in: zone, into: &keys)
        let remembered = remembered(of: records, in: zone)
        let sealed = records.filter { $0.isSealed || remembered.contains($0.id.recordName) }
        return await completed(keys, toOpen: sealed, in: zone)
    }

    /// The same for records that the keys have learned of.
    func completed(_ known: ZoneKeys, toOpen sealed: [Record], in zone: ZoneID) async -> ZoneKeys {
        var keys = known
        keys.shared.lookUpFailure = nil
        var asked = Set(sealed.map(\.id.recordName))
        for _ in 0..<TreeKeys.depthMax {
            let missing = keys.missing(for: sealed).subtracting(asked).sorted().prefix(RequestLimits.itemsMax)
            if missing.isEmpty { break }
            asked.formUnion(missing)
            let found: [Record]
            do {
                found = try await looked(at: missing, in: zone, desiredKeys: [])
            } catch {
                keys.shared.lookUpFailure = CallFailure(error)
                break
            }
            for record in found where record.sharing != nil { _ = await verifyIdentities(of: record) }
            await take(found, in: zone, into: &keys)
            let names = Set(found.map(\.id.recordName))
            for name in missing where !names.contains(name) { keys.shared.learn(nil, of: name) }
        }
        if !keys.isOwn, connection.cloud.surface.isNative { await lookUpEarlierEpochs(&keys, for: sealed, in: zone) }
        connection.keys.keep(keys)
        return keys
    }

    /// Looks up earlier epochs of shares as far as records need them.
    private func lookUpEarlierEpochs(_ keys: inout ZoneKeys, for records: [Record], in zone: ZoneID) async {
        let names = records.map(\.id.recordName)
        do {
            while true {
                let shares = keys.shared.earlierEpochs(neededFor: names)
                if shares.isEmpty { return }
                for (share, lowest) in shares.sorted(by: { $0.key < $1.key }) {
                    let request = ShareKeysRequest(zoneID: zone, recordName: share, before: Int(lowest) + 1)
                    let answer = try await call(.lookupShareKeys, request.wire(), needsUser: true) {
                        try ShareKeysAnswer(wireAnswer: $0)
                    }
                    try keys.shared.addEarlier(answer.keys.epochs, of: share)
                }
            }
        } catch {
            keys.shared.lookUpFailure = CallFailure(error)
        }
    }

    /// Takes in the keys that records offer. Shares of which the device has seen a later state are looked at again: another answer may
    /// have overtaken this one, while a cloud that goes back in time shows the earlier state once more.
    func take(_ records: [Record], in zone: ZoneID, into keys: inout ZoneKeys) async {
        // Most answers have no share.
        guard records.contains(where: { $0.sharing != nil }) else { return keys.learn(records) }
        let before = keys.shared
        var overtaken = take(records, into: &keys, before)
        for _ in 0..<Self.looksMax where !overtaken.isEmpty {
            do {
                let found = try await looked(at: overtaken, in: zone, desiredKeys: [])
                let ended = Set(overtaken).subtracting(found.map(\.id.recordName)).sorted()
                keys.shared.leave(ended, as: before, because: .refused(.recordNotFound))
                overtaken = take(found, into: &keys, before)
            } catch {
                // The request whose answer this is has been sent, and may have taken effect.
                let failure = CallFailure(error)
                return keys.shared.leave(
                    overtaken, as: before,
                    because: failure.leavesOutcomeOpen || failure == .cancelled ? failure : .transport(.connectionLost))
            }
        }
    }

    /// A look at a share may be overtaken as well, but hardly this often.
    private static var looksMax: Int { 3 }

    /// - Parameter before: The keys before the answer.
    /// - Returns: The shares of which the device has seen a later state.
    private func take(_ records: [Record], into keys: inout ZoneKeys, _ before: SharedKeys) -> [String] {
        var overtaken: [String] = []
        for record in records where record.sharing != nil {
            let share = RecordAddress(zone: keys.place, name: record.id.recordName)
            do throws(CallFailure) {
                keys = try opened(record, with: keys)
                keys.shared.noteRefusal(nil, ofShare: share.name)
            } catch  where error.concernsConnection {
                keys.shared.leave([share.name], as: before, because: error)
            } catch {
                keys.shared.noteRefusal(error, ofShare: share.name)
                // The account has a key, which opens once the directory has answered.
                if case .waitingForKey = error, let epoch = record.sharing?.keys?.epoch {
                    try? keys.shared.see(epoch, of: share.name)
                }
                keys.shared.noteRollback(of: record, pinned: connection.keys.highestEpoch(of: share))
            }
            if keys.shared.isOvertaken(share.name) { overtaken.append(share.name) }
        }
        keys.learn(records)
        return overtaken
    }

    /// Opens the records of a page of a feed.
    ///
    /// - Parameters:
    ///   - desiredKeys: The names of the fields that were asked for; nil: all.
    ///   - exchange: The exchange of states that the request began; nil: none.
    /// - Throws: `CallFailure.keysMissing` where this device has no keys at all, the failure of the connection where keys could not be
    ///   looked up, and `.identityUnconfirmed` where the user has to confirm the owner's new keys: a reader of a feed must not pass over records that can be opened later.
    func opened(
        _ page: ZoneChangesPage, desiredKeys: [String]?, exchange: ZoneExchange?
    ) async throws -> OpenedChanges {
        if connection.cloud.surface.isNative { try await checkOwnEntryIfDue() }
        let records = page.events.compactMap { if case .changed(let record) = $0 { record } else { nil } }
        if connection.cloud.surface.isNative, records.contains(where: \.isSealed) {
            _ = try await zoneKeys(page.zoneID)
        }
        let opened = await opened(records, desiredKeys: desiredKeys)
        let failures = opened.compactMap { if case .failure(let failure) = $0.values { failure } else { nil } }
        try await checkFailures(failures, of: page)
        let deleted = page.events.compactMap { if case .deleted(let gone) = $0 { gone.recordName } else { nil } }
        forget(deleted, in: page.zoneID, incarnation: exchange?.incarnation)
        var changes = OpenedChanges(page, records: opened, in: address)
        let hasShares = records.contains { $0.sharing != nil }
        let awaitsKeys = failures.contains { if case .waitingForKey = $0 { true } else { false } }
        if scope == .shared, hasShares || awaitsKeys {
            changes.keys = OpenedChanges.Keys(
                state: try await zoneKeys(page.zoneID).shared.keyState, hasShares: hasShares, areAwaited: awaitsKeys)
        }
        return changes
    }

    /// Fails where records of a page can be opened later.
    private func checkFailures(_ failures: [CallFailure], of page: ZoneChangesPage) async throws {
        guard !failures.isEmpty else { return }
        for failure in failures {
            if failure.concernsConnection { throw failure }
            // What the owner has sealed under other keys opens once the user of this device has confirmed them.
            if case .identityUnconfirmed = failure { throw failure }
        }
        guard scope == .shared else { return }
        let shared = try await zoneKeys(page.zoneID).shared
        // Without the newest key of the zone's shares the page waits: it opens when the key has arrived.
        let waiting = failures.first { if case .waitingForKey = $0 { true } else { false } }
        if let waiting, shared.isWaiting(for: page.sealingEpochs) { throw waiting }
        if let unconfirmed = shared.unconfirmedIdentity { throw unconfirmed }
    }

    /// The keys of a zone.
    ///
    /// - Throws: `CallFailure`, `.keysMissing` where this device has none, `.keysReplaced` where it has others than when the operation began.
    func zoneKeys(_ zone: ZoneID) async throws -> ZoneKeys {
        let keys = try await connection.keys.keys(of: zone, in: scope) { try await currentUser() }
        if let account = settings.account, connection.cloud.account.state.hasOtherKeys(than: account) {
            throw CallFailure.keysReplaced
        }
        return keys
    }

    /// Checks a zone of a response; one whose key epoch decreased is refused: the cloud would make this device seal for
    /// users who lost access. If it says that it was restored, the zone is listed for the user.
    ///
    /// - Parameter before: The epochs that this device had seen when the request was sent.
    func verified(_ zone: Zone, since before: HighestSeenEpochs?) -> Result<Zone, CallFailure> {
        guard scope != .public else { return .success(zone) }
        do throws(CallFailure) {
            // Answers that were kept while the app did not run are of any age.
            try connection.keys.see(zone, since: longLivedRun == nil ? before : HighestSeenEpochs())
            return .success(zone)
        } catch {
            // A failure of the profile's own file is reported when values have to be sealed.
            guard case .tampered = error else { return .success(zone) }
            let name = zone.id.zoneName
            return .failure(connection.cloud.restorations.failure(error, of: "Zone '\(name)'", listedAs: name))
        }
    }
}

/// Opens the records of one answer.
private struct RecordOpener {
    private(set) var keys: [ZoneID: ZoneKeys] = [:]
    private var failures: [ZoneID: CallFailure] = [:]
    /// The user record name of the account, by zone: taken out once, as keys are many values to copy.
    private var users: [ZoneID: String] = [:]
    /// The newest epoch in which a value opened, by zone: a holder of the zone's key has used it.
    private(set) var newest: [ZoneID: UInt32] = [:]

    mutating func take(_ result: Result<ZoneKeys, CallFailure>, for zone: ZoneID) {
        switch result {
        case .success(let found):
            keys[zone] = found
            users[zone] = found.access.user
        case .failure(let failure): failures[zone] = failure
        }
    }

    /// Opens many: those of a large answer in two halves, side by side.
    mutating func opened(all records: [Record], wanted: [Set<String>?]) async -> [OpenedRecord] {
        guard records.count >= Self.parallelOpeningMin else {
            return zip(records, wanted).map { opened($0, wanted: $1) }
        }
        let middle = records.count / 2
        async let first = part(records[..<middle], wanted[..<middle])
        async let second = part(records[middle...], wanted[middle...])
        let parts = await (first, second)
        newest.merge(parts.0.newest) { max($0, $1) }
        newest.merge(parts.1.newest) { max($0, $1) }
        return parts.0.records + parts.1.records
    }

    /// Fewer are opened faster than a task begins.
    private static let parallelOpeningMin = 32

    private func part(
        _ records: ArraySlice<Record>, _ wanted: ArraySlice<Set<String>?>
    ) async -> (records: [OpenedRecord], newest: [ZoneID: UInt32]) {
        var opening = self
        return (zip(records, wanted).map { opening.opened($0, wanted: $1) }, opening.newest)
    }

    private mutating func opened(_ record: Record, wanted: Set<String>?) -> OpenedRecord {
        if record.sharing != nil,
            let refusal = keys[record.id.zoneID]?.shared.refusal(ofShare: record.id.recordName)
        {
            return OpenedRecord(record, values: .failure(refusal))
        }
        guard record.isSealed || record.isStated else {
            var opened = OpenedRecord(record)
            opened.version = keys[record.id.zoneID]?.shared.statedVersion(ofShare: record)
            return opened
        }
        switch fields(of: record, wanted: wanted) {
        case .success(let (values, secrets, version)):
            var opened = OpenedRecord(record, values: .success(values), assetSecrets: secrets)
            opened.version = version
            // A statement that was not checked is nothing to make the next one from.
            if version == nil { opened.record.protection?.statement = [] }
            return opened
        case .failure(let failure): return OpenedRecord(record, values: .failure(failure))
        }
    }

    private mutating func fields(
        of record: Record, wanted: Set<String>?
    ) -> Result<([Field], [AssetSlot: AssetSecret], StatedVersion?), CallFailure> {
        let (zone, name) = (record.id.zoneID, record.id.recordName)
        do {
            if let failure = failures[zone] {
                if record.isSealed { return .failure(failure) }
                // Nothing that was asked for is sealed: a device without keys can read it.
                try record.checkStatedValues(wanted: wanted)
                return .success(([], [:], nil))
            }
            // In place: the keys of a large tree are not copied for each of its records.
            guard let cipher = try cipher(of: record, wanted: wanted) else { return .success(([], [:], nil)) }
            var fields: [Field] = []
            var values: [RecordStatement.Value] = []
            fields.reserveCapacity(record.fields.count)
            values.reserveCapacity(record.fields.count)
            for field in record.fields {
                if field.type.isEncrypted {
                    let (plain, value) = try cipher.openStated(field)
                    fields.append(plain)
                    values.append(value)
                } else if let value = try field.statedValue() {
                    values.append(value)
                }
            }
            let secrets = try record.assetSecrets(cipher.sealer)
            guard let version = try statedVersion(of: record, values: values, wanted: wanted, cipher) else {
                return .success(([], [:], nil))
            }
            if newest[zone] ?? 0 < cipher.protection.epoch || newest[zone] == nil {
                newest[zone] = cipher.protection.epoch
            }
            return .success((fields, secrets, version))
        } catch let error as EncryptionError {
            return .failure(keys[zone]?.failure(error, record: name) ?? CallFailure(error, record: name))
        } catch {
            return .failure(CallFailure(error))
        }
    }

    /// Returns the cipher of a record; nil: there is no key for it, and nothing that was asked for needs one.
    private mutating func cipher(of record: Record, wanted: Set<String>?) throws -> RecordCipher? {
        do throws(EncryptionError) {
            return try keys[record.id.zoneID]?.cipher(opening: record)
        } catch {
            guard case .noKey = error, !record.isSealed else { throw error }
            try record.checkStatedValues(wanted: wanted)
            return nil
        }
    }

    /// Returns the version that the record's statement confirms.
    ///
    /// - Returns: nil for a record that may be from before the account's keys were replaced, whose statement no key opens any more. Only the
    ///   default zone outlives its keys (B-ZN-12); nothing of it is sealed in this answer, so it is read as on a device without keys.
    private func statedVersion(
        of record: Record, values: [RecordStatement.Value], wanted: Set<String>?, _ cipher: RecordCipher
    ) throws -> StatedVersion? {
        do throws(EncryptionError) {
            return try check(record, values: values, wanted: wanted, cipher)
        } catch {
            guard error == .notAsStated(.facts), !record.isSealed, record.id.zoneID.isDefaultZone, record.hasDerivedKey
            else { throw error }
            return nil
        }
    }

    /// Compares a record with the statement of its version.
    private func check(
        _ record: Record, values: [RecordStatement.Value], wanted: Set<String>?, _ cipher: RecordCipher
    ) throws(EncryptionError) -> StatedVersion {
        guard record.isStated, let protection = record.protection, let user = users[record.id.zoneID] else {
            throw .notAsStated(.noStatement)
        }
        let statement = try RecordStatement(protection.statement)
        try statement.check(values, wanted: wanted)
        try statement.check(record.facts(for: user), sealer: cipher.sealer)
        return StatedVersion(statement)
    }
}

extension ZoneChangesPage {
    /// The epochs in which the records of the page were sealed.
    fileprivate var sealingEpochs: Set<UInt32> {
        Set(events.compactMap { if case .changed(let record) = $0 { record.protection?.epoch } else { nil } })
    }
}

extension [Record] {
    /// The zones of records for which keys may be needed, each once.
    fileprivate var zonesWithKeys: [ZoneID] {
        var zones: [ZoneID] = []
        for record in self where record.isSealed || record.isStated || record.sharing != nil {
            // Most records are in the zone of the one before them.
            if zones.last != record.id.zoneID, !zones.contains(record.id.zoneID) { zones.append(record.id.zoneID) }
        }
        return zones
    }
}
