import CloudKitEncryption
import CloudKitModel
import CloudKitWire

/// The maintenance of share keys that devices of owners and administrators do whenever they use a share (B-TM-05,
/// B-TM-06).
extension DatabaseRequests {
    /// The records, with the keys of shares among them brought up to date where that falls to this device; what fails is left to
    /// the next device or time.
    func maintained(_ records: [Record]) async -> [Record] {
        guard scope != .public, records.contains(where: { $0.sharing != nil }) else { return records }
        var records = records
        for index in records.indices where records[index].sharing != nil {
            guard await verifyIdentities(of: records[index]) == nil else { continue }
            for _ in 0..<Self.maintenanceAttemptsMax {
                do {
                    if let maintained = try await maintained(records[index]) { records[index] = maintained }
                    break
                } catch CallFailure.refused(let failure) where failure.code == .staleShareKeyEpoch {
                    // Another device was faster: what it began is what counts.
                    let zone = records[index].id.zoneID
                    guard let now = try? await looked(at: [records[index].id.recordName], in: zone).first else { break }
                    records[index] = now
                } catch {
                    break
                }
            }
        }
        return records
    }

    /// Verifies the identities of a share's participants by the directory.
    ///
    /// - Returns: The failure that concerns the share: nothing is given to, or taken from, identities that were not verified.
    func verifyIdentities(of record: Record) async -> CallFailure? {
        guard scope != .public, let sharing = record.sharing else { return nil }
        do {
            let keys = try await zoneKeys(record.id.zoneID)
            try await verifyIdentities(of: sharing, in: keys.place, except: keys.access.user)
            return nil
        } catch CallFailure.tampered(let reason) {
            return .tampered(reason)
        } catch {
            // Without an answer no new identity is given a key, and known ones are.
            return nil
        }
    }

    private static var maintenanceAttemptsMax: Int { 3 }

    /// nil: nothing was to be done.
    private func maintained(_ record: Record) async throws -> Record? {
        let zone = record.id.zoneID
        var keys = try await zoneKeys(zone)
        let share = RecordAddress(zone: keys.place, name: record.id.recordName)
        guard let sharing = record.sharing, let maintenance = ShareKeyMaintenance(sharing, of: share, by: keys) else {
            return nil
        }
        // Saving a share looks at it, too.
        guard connection.keys.beginMaintenance(of: share) else { return nil }
        defer { connection.keys.endMaintenance(of: share) }
        keys = try opened(record, with: keys)
        if maintenance.needsFirstKey {
            try await begin(record, sharing, known: keys)
            return try await looked(at: [share.name], in: zone).first
        }
        let change: ShareKeyChange
        if maintenance.needsKeyRotation {
            change = try await nextEpoch(of: share, sharing, in: zone, &keys)
        } else {
            guard let key = keys.shared.newestKey(of: share.name) else { return nil }
            let blob = sharing.keys?.epochs.first { $0.epoch == Int(key.epoch) }?.blob
            change = try making(keys, key).serving(
                maintenance, sharing,
                ring: try blob.map { blob throws(EncryptionError) in try ShareKeyring(bytes: blob, share: share) },
                zoneKeys: maintenance.isKeyringOutdated ? keys.ownZoneKeys(upTo: keys.epoch) : [])
            if change.wraps.isEmpty, change.link == nil, change.blob == nil { return nil }
        }
        let request = StoreShareKeysRequest(zoneID: zone, recordName: share.name, change: change)
        _ = try await call(.storeShareKeys, request.wire(), needsUser: true) { try ShareKeysAnswer(wireAnswer: $0) }
        connection.keys.keep(keys)
        if maintenance.needsKeyRotation { _ = try await newestKeys(of: zone) }
        return try await looked(at: [share.name], in: zone).first
    }

    /// Makes the keys of a new epoch of the share, with which the cloud begins an epoch of the zone: users who were
    /// removed cannot open values sealed from then on.
    ///
    /// An administrator's epoch has a random key, and the owner's next device follows with a derived one.
    private func nextEpoch(
        of share: RecordAddress, _ sharing: Share, in zone: ZoneID, _ keys: inout ZoneKeys
    ) async throws -> ShareKeyChange {
        let held = sharing.keys?.epoch ?? 0
        guard keys.isOwn else {
            guard let authority = keys.shared.authorities[share.name],
                let earlier = keys.shared.newestKey(of: share.name)
            else { throw EncryptionError.noKey(.shareKey(share: share.name)) }
            try connection.keys.endRights(in: share, except: sharing.administrators)
            let key = ShareKey(madeFor: share, epoch: UInt32(clamping: held + 1))
            let change = try making(keys, key).next(sharing, earlier: [earlier], zoneKeys: [])
            keys.shared.add(key, madeFor: authority.owner)
            return change
        }
        var earlier = [administratorsKey(of: share, sharing, keys)].compactMap(\.self)
        if let latest = keys.shared.latestKey(of: share.name) { earlier.append(latest) }
        let zoneEpoch = try await newestKeys(of: zone).epoch &+ 1
        let key = keys.access.root.shareKey(of: share, epoch: UInt32(clamping: held + 1))
        let isWhole = share.name == Share.zoneWideName
        let change = try making(keys, key).next(
            sharing, earlier: earlier, zoneKeys: isWhole ? keys.ownZoneKeys(upTo: zoneEpoch) : [])
        keys.shared.add(key)
        return change
    }

    /// Returns the newest key of a share of the user's own if an administrator began its epoch: participants who join
    /// later need it to read values sealed in that epoch.
    private func administratorsKey(of share: RecordAddress, _ sharing: Share, _ keys: ZoneKeys) -> ShareKey? {
        guard let newest = sharing.keys?.epochs.first, newest.epoch == sharing.keys?.epoch, let wrap = newest.wrap,
            let slot = sharing.currentParticipantID,
            let invitation = try? SealedShareInvitation(bytes: wrap, share: share),
            invitation.authority != nil, Int(invitation.epoch) == newest.epoch
        else { return nil }
        return try? connection.keys.open(invitation, slot: slot, as: keys.access)
    }

    /// Gives keys to a share of the user's own that a client without keys created, and wraps the key of its root, in
    /// one save: records below the root are wrapped under the root's key already.
    private func begin(_ record: Record, _ sharing: Share, known: ZoneKeys) async throws {
        let zone = record.id.zoneID
        var keys = try await newestKeys(of: zone)
        try await rekey(treesOf: Set(sharing.root.map { [$0] } ?? []), in: zone, sparing: [], keys)
        let share = RecordAddress(zone: keys.place, name: record.id.recordName)
        let key = keys.access.root.shareKey(of: share, epoch: keys.epoch + 1)
        let isWhole = share.name == Share.zoneWideName
        let change = try making(keys, key).next(
            sharing, earlier: [], zoneKeys: isWhole ? keys.ownZoneKeys(upTo: keys.epoch) : [])
        var items = [ModifyPlan.Item(id: record.id, operation: record.update(ShareChange(keys: change)))]
        if let name = sharing.root, let root = try await looked(at: [name], in: zone).first {
            let secrets = RecordSecrets(
                fields: [], recordType: root.recordType, parent: root.parent, share: share.name, isMoved: true,
                held: root.protection, isHeldChecked: false, created: root.created)
            items.append(ModifyPlan.Item(id: root.id, operation: root.update(), secrets: secrets))
        }
        keys.shared.add(key)
        connection.keys.keep(keys)
        let batch = ModifyPlan.Batch(zoneID: zone, wantsAtomic: true, items: items)
        let outcomes = try? await sealAndSend(batch, rekeysTrees: false)
        // Where another device was faster, or the save failed, the share has other keys, or none.
        guard case .success(.record)? = outcomes?.first else { return connection.keys.keep(known) }
    }

    private func making(_ keys: ZoneKeys, _ key: ShareKey) throws -> ShareKeyMaker {
        let identities = connection.keys.identities
        let place = keys.place
        return ShareKeyMaker(
            access: keys.access, key: key,
            isKnown: { identity, user in
                // Pinned after the directory showed it, and not at first sight.
                let name = IdentityPins.name(of: user.recordName, in: place)
                return (try? identities.known.fingerprint(of: name)) == identity.fingerprint
            },
            authority: keys.shared.authorities[key.place.name],
            ended: keys.isOwn ? [] : try connection.keys.endedRights(in: key.place))
    }

    /// The keys with those that a share's record holds for this account.
    func opened(_ record: Record, with keys: ZoneKeys) throws(CallFailure) -> ZoneKeys {
        var keys = keys
        let place = RecordAddress(zone: keys.place, name: record.id.recordName)
        let link = keys.isOwn ? nil : connection.keys.link(of: place) ?? keys.shared.links[place.name]
        let access = keys.access
        try keys.shared.open(
            record, as: access, link: link, isOwner: { connection.keys.isOwner($0, of: place.zone) },
            trust: { invitation, slot throws(CallFailure) in
                try connection.keys.open(invitation, slot: slot, as: access)
            })
        if let key = keys.shared.newestKey(of: place.name) {
            try connection.keys.see(key.epoch, of: place, isOwn: keys.isOwn)
        }
        try noteAdministrators(of: record, at: place, in: &keys)
        return keys
    }

    /// Remembers, on an administrator's device, who else is one.
    private func noteAdministrators(
        of record: Record, at share: RecordAddress, in keys: inout ZoneKeys
    ) throws(CallFailure) {
        guard !keys.isOwn, let sharing = record.sharing, sharing.currentParticipant?.role == .administrator,
            let own = try? keys.access.secret.identity()
        else { return }
        let isEnded = try connection.keys.note(
            administrators: sharing.administrators, of: share, epoch: sharing.keys?.epoch ?? 0,
            own: own.publicIdentity)
        if isEnded { keys.shared.forgetAuthority(of: share.name) }
    }

    /// Stores the secret that a link carries to open a share.
    func learn(_ link: ShareLink, of invitation: ShareInvitation) async throws {
        guard let fragment = link.fragment, invitation.scope == .shared,
            let keys = try? await self.in(.shared).zoneKeys(invitation.zoneID)
        else { return }
        connection.keys.keep(
            link: fragment, of: RecordAddress(zone: keys.place, name: invitation.share.id.recordName))
    }

    /// Records as the cloud holds them, without their fields; those that there are.
    func looked(at names: some Sequence<String>, in zone: ZoneID, desiredKeys: [String]? = nil) async throws -> [Record]
    {
        let request = LookupRecordsRequest(
            records: names.map { LookupRecordsRequest.Item(recordName: $0) }, zoneID: zone, desiredKeys: desiredKeys)
        return try await lookup(request).compactMap { outcome in
            guard case .record(var record) = outcome else { return nil }
            record.id.zoneID = zone
            return record
        }
    }

    /// Returns the URLs of a share, with the secrets of its links that this device knows; nil for any other record.
    func link(of record: Record, _ keys: ZoneKeys?) -> ShareLink? {
        guard let sharing = record.sharing, let guid = record.shortGUID, let place = try? connection.cloud.place.get()
        else {
            return nil
        }
        var link = ShareLink(endpoint: place.endpoint, shortGUID: guid)
        guard let keys, sharing.keys != nil else { return link }
        let share = RecordAddress(zone: keys.place, name: record.id.recordName)
        if sharing.isOpen {
            let secret =
                keys.isOwn
                ? keys.access.root.linkSecret(of: share)
                : keys.shared.links[share.name] ?? connection.keys.link(of: share)
            link.fragment = secret?.fragment
        }
        if keys.isOwn {
            for participant in sharing.participants where participant.oneTimeGUID != nil {
                link.slots[participant.id] =
                    keys.access.root.linkSecret(of: share, participant: participant.id).fragment
            }
        }
        return link
    }
}

extension Record {
    /// A save that changes nothing of the record itself.
    package func update(_ share: ShareChange? = nil) -> RecordOperation {
        RecordOperation(
            .update,
            RecordChange(
                recordName: id.recordName, recordType: recordType, changeTag: changeTag, share: share, desiredKeys: []))
    }
}

extension ZoneKeys {
    /// Returns the zone's own keys for the key ring of a share of the whole zone, the newest ones up to the ring's
    /// size.
    func ownZoneKeys(upTo newest: UInt32) -> [ZoneKey] {
        guard isOwn else { return [] }
        return ((newest < 24 ? 0 : newest - 24)...newest).map {
            access.root.zoneKey(owner: place.owner, zone: place.zone, epoch: $0)
        }
    }
}
