import CloudKitEncryption
import CloudKitModel

@testable import CloudKit
@testable import CloudKitClient

// MARK: Keys of zones

extension Simulation {
    func zoneAddress(_ place: Place) -> ZoneAddress {
        ZoneAddress(
            container: SimulatedCloud.container.name, environment: "development",
            owner: people.users[place.owner].recordName, zone: place.zone)
    }

    /// Returns the keys of a zone that a device has.
    func keys(of place: Place, on index: Int) throws -> ZoneKeys {
        do {
            let keys = try devices[index].keys.zone(zoneAddress(place), devices[index].zones[place])
            devices[index].keys.keep(keys)
            return keys
        } catch let failure as CallFailure {
            throw Violation("\(devices[index].name) takes the keys of \(place) for tampered with: \(failure)")
        }
    }

    /// Returns the value of a record's encrypted field for a device; nil without a value or a key.
    ///
    /// - Parameter isSpy: Whether the keys are those of a user without access, with which values need not open.
    /// - Throws: `Violation` where the device takes what the honest cloud shows for tampered with.
    func opened(
        _ record: Record, in place: Place, with keys: inout ZoneKeys, _ cache: ZoneCache?, isSpy: Bool = false
    ) throws -> String? {
        guard let field = record.fields.first(where: { $0.name == "secret" }) else { return nil }
        // A value that cannot be decrypted counts as missing.
        for _ in 0..<16 {
            let missing = keys.missing(for: [record]).filter { cache?.records[$0] == nil }
            let news = missing.filter { keys.shared.protections[$0] == nil }
            for name in missing { keys.shared.learn(nil, of: name) }
            if news.isEmpty { break }
        }
        do {
            let cipher = try keys.cipher(opening: record)
            let plain = try cipher.open(field)
            try record.checkStatedValues(wanted: nil)
            try RecordStatement(record.protection?.statement ?? []).check(
                record.facts(for: keys.access.user), sealer: cipher.sealer)
            return String(decoding: plain.json, as: UTF8.self)
        } catch let error as EncryptionError {
            if case .noKey = error { return nil }
            if isSpy { return nil }
            throw Violation("\(record.id.recordName) in \(place) is taken for tampered with: \(error)")
        }
    }
}

// MARK: Sealing

extension Simulation {
    /// - Returns: false if an answer was lost.
    func sealSometimes(_ edit: inout Edit, on index: Int) async throws -> Bool {
        guard edit.kind == .create || roll(2) == 0 else { return true }
        let record = devices[index].zones[edit.place]?.records[edit.name]
        let parent = edit.parent(insteadOf: record?.parent)
        return try await seal(&edit, below: parent, isMoved: parent != record?.parent, on: index)
    }

    /// - Returns: false if the device lacks the keys.
    func sealForMove(_ edit: inout Edit, on index: Int) async throws -> Bool {
        let record = devices[index].zones[edit.place]?.records[edit.name]
        let isReady = try await seal(&edit, below: edit.parent(insteadOf: record?.parent), isMoved: true, on: index)
        return isReady && (edit.secret != nil || record?.protection == nil)
    }

    /// Wraps the key of a new share's root with the share's first key.
    func sealForMove(
        _ edit: inout Edit, sharedAs name: String, in change: inout ShareChange, on index: Int
    ) async throws -> Bool {
        guard try await learnEpoch(of: edit.place, on: index) else { return false }
        var keys = try keys(of: edit.place, on: index)
        try begin(name, in: &change, &keys, on: index)
        let record = devices[index].zones[edit.place]?.records[edit.name]
        return try await seal(&edit, below: record?.parent, isMoved: true, sharedAs: name, on: index)
            && edit.secret != nil
    }

    /// Encrypts the records between a root and records of later epochs below it again. Has to be complete before sharing, so no
    /// answer is lost here.
    func repair(below root: String, in place: Place, on index: Int) async throws {
        try await withoutFaults {
            guard try await learnEpoch(of: place, on: index) else { return }
            let epoch = devices[index].keys.files.epochs.epoch(of: zoneAddress(place)) ?? 0
            guard epoch > 0 else { return }
            try await sync(on: index)
            let mending = TreeRekeying(root: root, records: devices[index].records(in: place), epoch: epoch)
            for name in mending.stale.sorted() {
                // A record to which others refer has another tag, which no feed reports.
                guard try await look(at: [name], in: place, on: index) else { continue }
                var edit = edit(name, .update, in: place, on: index)
                guard try await sealForMove(&edit, on: index) else { continue }
                try await save(edit, on: index, "seals again")
            }
        }
    }

    /// Creates the first key of a zone-wide share.
    ///
    /// - Returns: false if an answer was lost.
    func keyZoneShare(_ change: inout ShareChange, in place: Place, on index: Int) async throws -> Bool {
        guard try await learnEpoch(of: place, on: index) else { return false }
        var keys = try keys(of: place, on: index)
        try begin(Share.zoneWideName, in: &change, &keys, on: index)
        return true
    }

    /// Creates the first keys of a share.
    private func begin(_ name: String, in change: inout ShareChange, _ keys: inout ZoneKeys, on index: Int) throws {
        let access = devices[index].keys.access
        let key = access.root.shareKey(of: RecordAddress(zone: keys.place, name: name), epoch: keys.epoch + 1)
        let permission = change.publicPermission ?? .none
        let making = ShareKeyMaker(
            access: access, key: key, isKnown: { _, _ in false }, authority: nil)
        let zoneKeys = change.root == nil ? keys.ownZoneKeys(upTo: keys.epoch) : []
        change.keys = try making.first(
            isOpen: permission.canRead, root: change.root?.recordName, zoneKeys: zoneKeys)
        keys.shared.add(key)
        devices[index].keys.keep(keys)
    }

    /// Encrypts a new value of the encrypted field as the framework does, after looking up the ancestors.
    ///
    /// - Returns: false if an answer was lost. Without the keys, the edit continues without a value.
    private func seal(
        _ edit: inout Edit, below parent: String?, isMoved: Bool, sharedAs share: String? = nil, on index: Int
    ) async throws -> Bool {
        let place = edit.place
        let root = devices[index].zones[place]?.records[edit.name]?.share
        if parent != nil || root != nil || place.owner != devices[index].person {
            guard try await lookAround(edit.name, below: parent, in: place, on: index) else { return false }
        }
        var keys = try keys(of: place, on: index)
        let cache = devices[index].zones[place]
        if let tree = share ?? tree(of: edit.name, below: parent, cache) { keys.trees[edit.name] = tree }
        keys.isShared = !keys.isOwn || !keys.trees.isEmpty || keys.shared.newest[Share.zoneWideName] != nil
        let plain = "\"s\(fresh())\""
        let held = cache?.records[edit.name]
        do throws(EncryptionError) {
            let cipher = try keys.cipher(
                sealing: edit.name, recordType: "Note", parent: parent, isMoved: isMoved, held: held?.protection)
            let (field, value) = try cipher.sealStated(
                Field(name: "secret", type: .string, json: Array(plain.utf8)))
            var protection = cipher.protection
            // "secret" is the only field with a sealed value, so that nothing of the earlier statement stays.
            let base = try held?.isStated == true ? RecordStatement(held?.protection?.statement ?? []) : nil
            protection.statement = try RecordStatement(
                after: base, version: base.map { $0.version + 1 } ?? nextStatementVersion(), values: [value],
                facts: .init(parent: parent, created: held?.created, user: keys.access.user), sealer: cipher.sealer
            ).bytes
            edit.secret = SealedSecret(plain: plain, field: field, protection: protection)
            devices[index].keys.spy.keep(cipher)
            devices[index].keys.keep(keys)
        } catch {
            guard case .noKey = error else {
                throw Violation("\(devices[index].name) cannot seal \(edit.name) in \(place): \(error)")
            }
            note("    \(devices[index].name) waits for keys")
        }
        return true
    }

    private func tree(of name: String, below parent: String?, _ cache: ZoneCache?) -> String? {
        if let own = cache?.records[name]?.share { return own }
        var current = parent
        for _ in 0..<20 {
            guard let step = current, let record = cache?.records[step] else { return nil }
            if let share = record.share { return share }
            current = record.parent
        }
        return nil
    }

    /// Looks up the ancestors up to the root, the zone-wide share and the share.
    ///
    /// - Returns: false if an answer was lost.
    private func lookAround(_ name: String, below parent: String?, in place: Place, on index: Int) async throws -> Bool
    {
        let epoch = devices[index].keys.files.epochs.epoch(of: zoneAddress(place)) ?? 0
        // The framework caches a lookup for half a minute within an epoch.
        if devices[index].looks[place] == epoch, roll(2) == 0 { return true }
        guard try await climb(from: parent, in: place, on: index) else { return false }
        let cache = devices[index].zones[place]
        if let share = tree(of: name, below: parent, cache) {
            guard try await look(at: [share], in: place, on: index) else { return false }
            if devices[index].zones[place]?.records[share] == nil {
                var keys = try keys(of: place, on: index)
                keys.shared.learnAbsence(of: share)
                devices[index].keys.keep(keys)
            }
        }
        for share in [tree(of: name, below: parent, cache), Share.zoneWideName] {
            if let record = share.flatMap({ devices[index].zones[place]?.records[$0] }) {
                try await tend(record, in: place, on: index)
            }
        }
        devices[index].looks[place] = epoch
        return true
    }

    private func climb(from parent: String?, in place: Place, on index: Int) async throws -> Bool {
        var names = [Share.zoneWideName]
        if let parent { names.append(parent) }
        for _ in 0..<10 {
            guard try await look(at: names, in: place, on: index) else { return false }
            guard let last = names.last, let above = devices[index].zones[place]?.records[last], above.share == nil,
                let next = above.parent
            else { return true }
            names = [next]
        }
        return true
    }

    /// Looks up records; removes invisible ones from the device's copy.
    func look(at names: [String], in place: Place, on index: Int) async throws -> Bool {
        let device = devices[index]
        let answer = try await deliver("\(device.name) looks at \(names) in \(place)") {
            try await Answer {
                try await cloud.lookupRecords(
                    LookupRecordsRequest(
                        records: names.map { LookupRecordsRequest.Item(recordName: $0) },
                        zoneID: zoneID(place, for: device)),
                    in: address(place, for: device), by: device.caller)
            }
        }
        guard case .done(let outcomes)? = answer else { return answer != nil }
        for (name, outcome) in zip(names, outcomes) {
            if case .record(let record) = outcome {
                try checkShare(record, in: place, for: device.person)
                devices[index].keep(record, in: place)
            } else {
                devices[index].zones[place]?.records[name] = nil
            }
        }
        return true
    }

    /// Fetches the current key epoch of a zone.
    ///
    /// - Returns: false if it failed.
    @discardableResult
    func learnEpoch(of place: Place, on index: Int) async throws -> Bool {
        let device = devices[index]
        let answer = try await deliver("\(device.name) looks at \(place)") {
            try await cloud.lookupZones(
                [zoneID(place, for: device)], in: address(place, for: device), by: device.caller)[0]
        }
        guard case .zone(let zone)? = answer else { return false }
        do throws(EncryptionError) {
            try devices[index].keys.files.epochs.see(zone.keyEpoch, of: zoneAddress(place))
        } catch {
            throw Violation("\(device.name): \(error)")
        }
        return true
    }
}

// MARK: Share key maintenance by owners and administrators

extension Simulation {
    /// Maintains the keys of a zone's shares, where that is this device's task.
    func tend(_ place: Place, on index: Int) async throws {
        for record in devices[index].shares(in: place) { try await tend(record, in: place, on: index) }
    }

    /// Checks the shares that a device maintains in zones with participants whose keys were replaced.
    ///
    /// - Returns: false if an answer was lost.
    func tendSuspects(on index: Int) async throws -> Bool {
        for place in devices[index].suspect.sorted() {
            let hosted = devices[index].shares(in: place).filter {
                let role = $0.sharing?.currentParticipant?.role
                return role == .owner || role == .administrator
            }
            if !hosted.isEmpty {
                guard try await look(at: hosted.map(\.id.recordName), in: place, on: index) else { return false }
                try await tend(place, on: index)
            }
            devices[index].suspect.remove(place)
        }
        return true
    }

    func tend(_ record: Record, in place: Place, on index: Int) async throws {
        learnSlots(of: record, in: place, on: index)
        guard let sharing = record.sharing,
            let duty = ShareKeyMaintenance(
                sharing, of: RecordAddress(zone: zoneAddress(place), name: record.id.recordName),
                by: try keys(of: place, on: index))
        else { return }
        let keys = try keys(of: place, on: index)
        let share = RecordAddress(zone: keys.place, name: record.id.recordName)
        let change: ShareKeyChange
        if duty.needsKeyRotation {
            guard let next = try await nextEpoch(of: share, sharing, in: place, on: index) else { return }
            change = next
        } else {
            guard let key = keys.shared.newestKey(of: share.name) else { return }
            let blob = sharing.keys?.epochs.first { $0.epoch == Int(key.epoch) }?.blob
            change = try devices[index].keys.making(key, keys).serving(
                duty, sharing,
                ring: try blob.map { blob throws(EncryptionError) in try ShareKeyring(bytes: blob, share: share) },
                zoneKeys: duty.isKeyringOutdated ? keys.ownZoneKeys(upTo: keys.epoch) : [])
            if change.wraps.isEmpty, change.link == nil, change.blob == nil { return }
        }
        try await hand(change, to: record, in: place, on: index)
    }

    private func nextEpoch(
        of share: RecordAddress, _ sharing: Share, in place: Place, on index: Int
    ) async throws -> ShareKeyChange? {
        let next = UInt32(clamping: (sharing.keys?.epoch ?? 0) + 1)
        guard place.owner == devices[index].person else {
            let keys = try keys(of: place, on: index)
            guard keys.shared.authorities[share.name] != nil, let earlier = keys.shared.newestKey(of: share.name)
            else { return nil }
            let key = ShareKey(madeFor: share, epoch: next)
            return try devices[index].keys.making(key, keys).next(sharing, earlier: [earlier], zoneKeys: [])
        }
        guard try await learnEpoch(of: place, on: index) else { return nil }
        let keys = try keys(of: place, on: index)
        let earlier = [
            devices[index].keys.administratorsKey(of: share, sharing),
            keys.shared.latestKey(of: share.name, below: next),
        ].compactMap(\.self)
        let key = keys.access.root.shareKey(of: share, epoch: next)
        return try devices[index].keys.making(key, keys).next(
            sharing, earlier: earlier,
            zoneKeys: share.name == Share.zoneWideName ? keys.ownZoneKeys(upTo: keys.epoch + 1) : [])
    }

    /// - Returns: false if an answer was lost.
    func raiseEpoch(of place: Place, on index: Int) async throws -> Bool {
        guard try await learnEpoch(of: place, on: index) else { return false }
        let device = devices[index]
        let next = (device.keys.files.epochs.epoch(of: zoneAddress(place)) ?? 0) + 1
        let answer: Void? = try await deliver("\(device.name) begins key epoch \(next) of \(place)") {
            let outcome = try await cloud.modifyZones(
                [.raiseKeyEpoch(zoneID(place, for: device), to: next)], in: world.address(.private), by: device.caller)[
                    0]
            switch outcome {
            case .zone(let zone):
                try check(zone.keyEpoch == model[place].keyEpoch + 1, "the epoch of \(place) leapt to \(zone.keyEpoch)")
                model[place].keyEpoch = zone.keyEpoch
            case .failed(_, let failure):
                note("    \(failure.code)")
                let expected = zoneRefusal(place, by: device.person) ?? .staleKeyEpoch
                try check(failure.code == expected, "a new epoch of \(place): \(failure.code)")
            case .deleted: throw Violation("a new epoch was answered as a deletion")
            }
        }
        return answer != nil
    }

    private func hand(_ change: ShareKeyChange, to record: Record, in place: Place, on index: Int) async throws {
        let device = devices[index]
        let name = record.id.recordName
        let answer = try await deliver("\(device.name) hands out keys of \(name) in \(place), epoch \(change.epoch)") {
            let answer = try await Answer {
                try await cloud.storeShareKeys(
                    StoreShareKeysRequest(zoneID: zoneID(place, for: device), recordName: name, change: change),
                    in: address(place, for: device), by: device.caller)
            }
            let tree = model[place].trees[name]
            let mayStore =
                device.person == place.owner
                || tree.map {
                    $0.isMember(device.person)
                        && model.word(for: "store keys", object: "share", role: $0.role(of: device.person)) == "yes"
                }
                    ?? false
            switch answer {
            case .done:
                try check(tree != nil && mayStore, "\(device.name) stored keys of \(name), which they may not")
                // The share's next epoch also begins one of the zone.
                if change.begins == true { model[place].keyEpoch += 1 }
                heldKeys.append(HeldKeys(share: RecordAddress(zone: zoneAddress(place), name: name), change: change))
            case .refused(let failure):
                note("    \(failure.code)")
                let expected: Set<RequestFailure.Code> = [
                    .staleShareKeyEpoch, .badRequest, .itemNotFound, .zoneNotFound, .accessDenied, .zonePurged,
                    .zoneKeysReset,
                ]
                try check(expected.contains(failure.code), "handing out keys: \(failure.code) \(failure.reason)")
            }
            return answer
        }
        if case .done? = answer { _ = try await look(at: [name], in: place, on: index) }
    }
}

// MARK: Access

extension Simulation {
    /// An administrator who removes a participant can begin an epoch without the owner.
    private func checkRight(_ record: Record, in place: Place, keys: ZoneKeys, device: Device) throws {
        guard let sharing = record.sharing, sharing.currentParticipant?.role == .administrator,
            sharing.currentParticipant?.acceptance == .accepted, (sharing.keys?.epoch ?? 0) > 0
        else { return }
        let name = record.id.recordName
        try check(
            keys.shared.authorities[name] != nil, "\(device.name), who is administrator, has no right to begin \(name)")
    }

    /// Checks that a device can decrypt all visible values and that they are correct.
    func checkOpening(on index: Int) throws {
        let device = devices[index]
        for place in SimulatedUsers.zones {
            guard let cache = device.zones[place] else { continue }
            var keys = try keys(of: place, on: index)
            for record in device.shares(in: place) { try checkRight(record, in: place, keys: keys, device: device) }
            for record in device.records(in: place) {
                let expected = model[place].items[record.id.recordName]?.fields["secret"]
                let found = try opened(record, in: place, with: &keys, cache)
                try check(
                    found == expected,
                    "\(device.name) opens \(record.id.recordName) in \(place) as \(found ?? "nothing"), the model says "
                        + "\(expected ?? "nothing")")
                if found != nil, let cipher = try? keys.cipher(opening: record) {
                    device.keys.spy.keep(cipher)
                }
            }
        }
    }
}
