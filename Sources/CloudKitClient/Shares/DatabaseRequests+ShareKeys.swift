import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import CloudKitWire
import IdentityDirectory

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
            let lost = await lostEpochs(of: records[index])
            for _ in 0..<Self.maintenanceAttemptsMax + lost {
                do {
                    guard let maintained = try await maintained(records[index]) else { break }
                    records[index] = maintained
                    // One epoch follows another, up to the first that nobody has a key of.
                    guard lost > 0, await lostEpochs(of: maintained) > 0 else { break }
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
            do {
                try await verifyIdentities(of: sharing, in: keys.place, except: keys.access.user)
            } catch CallFailure.tampered {
                // A participant may have replaced the keys since the cloud answered: it then shows the directory's.
                let found = try await looked(at: [record.id.recordName], in: record.id.zoneID, desiredKeys: []).first
                try await verifyIdentities(
                    of: found?.sharing ?? sharing, in: keys.place, except: keys.access.user)
            }
            if let head = keys.shared.statements[record.id.recordName]?.opened.directoryHead {
                // The device that signed the statement has seen it.
                try await check(DirectoryHeadReference(number: head.number, hash: head.hash))
            }
            return nil
        } catch let failure as CallFailure {
            switch failure {
            case .tampered, .earlierState, .identityUnconfirmed: return failure
            // Without an answer no new identity is given a key, and known ones are.
            default: return nil
            }
        } catch {
            return nil
        }
    }

    private static var maintenanceAttemptsMax: Int { 3 }
    private static var lostEpochsMax: Int { 64 }

    /// Returns by how many epochs the keys of an own share are to be renewed, because a state of the cloud that is lost had those; at most as many as
    /// are renewed at a time.
    private func lostEpochs(of record: Record) async -> Int {
        // Nearly every cloud was never restored.
        guard connection.keys.hasLostEpochs, let epoch = record.sharing?.keys?.epoch,
            let keys = try? await zoneKeys(record.id.zoneID), keys.isOwn
        else { return 0 }
        let lost = connection.keys.lostEpoch(of: RecordAddress(zone: keys.place, name: record.id.recordName))
        return min(max(0, Int(lost) + 1 - epoch), Self.lostEpochsMax)
    }

    /// nil: nothing was to be done.
    private func maintained(_ record: Record) async throws -> Record? {
        let zone = record.id.zoneID
        guard let sharing = record.sharing, sharing.isManaged else { return nil }
        let known = try await zoneKeys(zone)
        let share = RecordAddress(zone: known.place, name: record.id.recordName)
        let ring = connection.keys
        let lostEpoch = ring.lostEpoch(of: share)
        let isDue = ShareKeyMaintenance(sharing, of: share, by: known, lostEpoch: lostEpoch) != nil
        guard isDue || ring.hasQuestions(about: share) else { return nil }
        // Saving a share looks at it, too.
        guard ring.beginMaintenance(of: share) else { return nil }
        defer { ring.endMaintenance(of: share) }
        var keys = try opened(record, with: known)
        let answers = ring.answers(about: share)
        guard let newest = sharing.newestKeys else {
            return try await begun(record, sharing, answers: answers, known: keys)
        }
        guard
            let held = keys.shared.statements[share.name]
                ?? unreadableStatement(of: share, sharing, newest: newest, keys)
        else {
            return nil
        }
        let stated = held.opened.confirming(answers)
        guard stated.contradictions(in: sharing, isManager: true).isEmpty else { return nil }
        let confirmed = confirmed(sharing, by: stated, of: share, keys)
        ring.ask(confirmed.unconfirmed.map { $0.question(in: share, root: sharing.root) }, about: share)
        let maintenance = ShareKeyMaintenance(confirmed.sharing, of: share, by: keys, lostEpoch: lostEpoch)
        guard maintenance != nil || stated != held.opened else { return nil }
        var change: ShareKeyChange
        if maintenance?.needsKeyRotation ?? false {
            change = try await nextEpoch(
                of: share, confirmed, after: (stated.continued(in: sharing), held), in: zone, &keys)
        } else {
            guard let key = keys.shared.newestKey(of: share.name) else { return nil }
            let maker = try await making(keys, key, refusing: confirmed.refused)
            change = ShareKeyChange(epoch: Int(key.epoch), begins: false)
            if let maintenance {
                change = try maker.serving(
                    maintenance, confirmed.sharing,
                    ring: try newest.blob.map { blob throws(EncryptionError) in
                        try ShareKeyring(bytes: blob, share: share)
                    },
                    zoneKeys: maintenance.isKeyringOutdated ? keys.ownZoneKeys(upTo: keys.epoch) : [])
            }
            let bound = stated.bound(by: change.wraps, to: sharing)
            if bound != held.opened { change.statement = try maker.stating(bound, after: held.sealed.counter) }
            if change.wraps.isEmpty, change.link == nil, change.blob == nil, change.statement == nil { return nil }
        }
        let request = StoreShareKeysRequest(zoneID: zone, recordName: share.name, change: change)
        _ = try await call(.storeShareKeys, request.wire(), needsUser: true) { try ShareKeysAnswer(wireAnswer: $0) }
        if !answers.isEmpty { ring.settle(share) }
        connection.keys.keep(keys)
        if maintenance?.needsKeyRotation ?? false { _ = try await newestKeys(of: zone) }
        return try await looked(at: [share.name], in: zone).first
    }

    /// Returns the share as far as a statement confirms it.
    private func confirmed(
        _ sharing: Share, by statement: ShareStatement?, of share: RecordAddress, _ keys: ZoneKeys
    ) -> ConfirmedShare {
        ConfirmedShare(
            sharing, by: statement, share: share,
            links: { participant in
                if keys.isOwn {
                    let former = keys.access.root.linkSecret(of: share, participant: participant ?? "")
                    guard participant == nil, let statement else { return [former] }
                    return [keys.access.root.linkSecret(of: share, root: statement.root), former]
                }
                return participant == nil ? [knownLink(of: share, keys)].compactMap(\.self) : []
            },
            isConfirmed: { connection.keys.isConfirmed($0, of: $1, in: share.zone) })
    }

    /// Returns a statement without participants where the newest one cannot be read, because an administrator gave the owner a key
    /// that does not open: the owner's epoch begins for nobody until the owner confirms the participants.
    private func unreadableStatement(
        of share: RecordAddress, _ sharing: Share, newest: ShareKeyEpoch, _ keys: ZoneKeys
    ) -> SharedKeys.HeldStatement? {
        guard keys.isOwn, newest.isAdministrators, keys.shared.distrusted[share.name] == nil,
            let bytes = newest.statement, let sealed = try? SealedShareStatement(bytes: bytes, share: share)
        else { return nil }
        return SharedKeys.HeldStatement(sealed: sealed, opened: ShareStatement(of: share, root: sharing.root))
    }

    /// Gives keys to a share without any, of which the user of this device confirmed some participants; nil: none.
    private func begun(
        _ record: Record, _ sharing: Share, answers: [ShareQuestions.Question], known: ZoneKeys
    ) async throws -> Record? {
        guard known.isOwn, sharing.keys == nil else { return nil }
        let share = RecordAddress(zone: known.place, name: record.id.recordName)
        let stated = ShareStatement(of: share, root: sharing.root).confirming(answers)
        let confirmed = confirmed(sharing, by: stated, of: share, known)
        var questions = confirmed.unconfirmed.map { $0.question(in: share, root: sharing.root) }
        questions += stated.contradictions(in: sharing, isManager: true).compactMap(\.question)
        connection.keys.ask(questions, about: share)
        guard !stated.participants.isEmpty || stated.publicPermission != .none else { return nil }
        try await begin(record, confirmed, stating: stated, known: known)
        connection.keys.settle(share)
        return try await looked(at: [share.name], in: record.id.zoneID).first
    }

    /// Makes the keys of a new epoch of the share, with which the cloud begins an epoch of the zone: users who were
    /// removed cannot open values sealed from then on.
    ///
    /// An administrator's epoch has a random key, and the owner's next device follows with a derived one.
    private func nextEpoch(
        of share: RecordAddress, _ confirmed: ConfirmedShare,
        after last: (stated: ShareStatement, held: SharedKeys.HeldStatement), in zone: ZoneID, _ keys: inout ZoneKeys
    ) async throws -> ShareKeyChange {
        let sharing = confirmed.sharing
        let held = sharing.keys?.epoch ?? 0
        func stating(_ change: ShareKeyChange, _ maker: ShareKeyMaker) throws -> ShareKeyChange {
            var change = change
            change.statement = try maker.stating(
                last.stated.bound(by: change.wraps, to: sharing), after: last.held.sealed.counter)
            return change
        }
        guard keys.isOwn else {
            guard let authority = keys.shared.authorities[share.name],
                let earlier = keys.shared.newestKey(of: share.name)
            else { throw EncryptionError.noKey(.shareKey(share: share.name)) }
            try connection.keys.endRights(in: share, except: administrators(of: sharing, keys))
            let key = ShareKey(madeFor: share, epoch: UInt32(clamping: held + 1))
            let maker = try await making(keys, key, refusing: confirmed.refused)
            let change = try stating(try maker.next(sharing, earlier: [earlier], zoneKeys: []), maker)
            keys.shared.add(key, madeFor: authority.owner)
            return change
        }
        var earlier = [try administratorsKey(of: share, sharing, keys)].compactMap(\.self)
        let next = UInt32(clamping: held + 1)
        if let latest = keys.shared.latestKey(of: share.name, below: next) { earlier.append(latest) }
        let zoneEpoch = try await newestKeys(of: zone).epoch &+ 1
        let key = keys.access.root.shareKey(of: share, epoch: next)
        let isWhole = share.name == Share.zoneWideName
        let maker = try await making(keys, key, refusing: confirmed.refused)
        let change = try stating(
            try maker.next(sharing, earlier: earlier, zoneKeys: isWhole ? keys.ownZoneKeys(upTo: zoneEpoch) : []), maker
        )
        keys.shared.add(key)
        return change
    }

    /// Returns the newest key of a share of the user's own if an administrator began its epoch: participants who join
    /// later need it to read values sealed in that epoch.
    ///
    /// - Returns: nil: the owner began it, or the key does not open.
    /// - Throws: Where this device cannot say.
    private func administratorsKey(
        of share: RecordAddress, _ sharing: Share, _ keys: ZoneKeys
    ) throws(CallFailure) -> ShareKey? {
        guard let newest = sharing.keys?.epochs.first, newest.epoch == sharing.keys?.epoch, let wrap = newest.wrap,
            let slot = sharing.currentParticipantID,
            let invitation = try? SealedShareInvitation(bytes: wrap, share: share),
            invitation.authority != nil, Int(invitation.epoch) == newest.epoch
        else { return nil }
        do throws(CallFailure) {
            return try connection.keys.open(invitation, slot: slot, as: keys.access)
        } catch {
            if error.concernsConnection { throw error }
            return nil
        }
    }

    /// Gives keys to a share of the user's own that a client without keys created, and wraps the key of its root, in
    /// one save: records below the root are wrapped under the root's key already.
    private func begin(
        _ record: Record, _ confirmed: ConfirmedShare, stating stated: ShareStatement, known: ZoneKeys
    ) async throws {
        let zone = record.id.zoneID
        let sharing = confirmed.sharing
        var keys = try await newestKeys(of: zone)
        try await rekey(treesOf: Set(sharing.root.map { [$0] } ?? []), in: zone, sparing: [], keys)
        let share = RecordAddress(zone: keys.place, name: record.id.recordName)
        let key = keys.access.root.shareKey(of: share, epoch: keys.epoch + 1)
        let isWhole = share.name == Share.zoneWideName
        let maker = try await making(keys, key, refusing: confirmed.refused)
        var change = try maker.next(
            sharing, earlier: [], zoneKeys: isWhole ? keys.ownZoneKeys(upTo: keys.epoch) : [])
        change.statement = try maker.stating(stated.bound(by: change.wraps, to: sharing), after: 0)
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

    /// - Parameter refused: Identities to which nothing is sealed.
    func making(
        _ keys: ZoneKeys, _ key: ShareKey, refusing refused: Set<Fingerprint> = []
    ) async throws -> ShareKeyMaker {
        let identities = connection.keys.identities
        let place = keys.place
        return ShareKeyMaker(
            access: keys.access, key: key,
            isKnown: { identity, user in
                // Pinned after the directory showed it, and not at first sight.
                let name = IdentityPins.name(of: user.recordName, in: place)
                return !refused.contains(identity.fingerprint)
                    && (try? identities.known.fingerprint(of: name)) == identity.fingerprint
            },
            authority: keys.shared.authorities[key.place.name],
            ended: keys.isOwn ? [] : try connection.keys.endedRights(in: key.place),
            directoryHead: try await headForStatement().map { .init(number: $0.number, hash: $0.hash) })
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
        try learnStatement(of: record, at: place, in: &keys)
        return keys
    }

    /// Verifies the statement of a share and compares it with the cloud's description of the share. Nothing is sealed for a share
    /// whose statement is refused.
    private func learnStatement(
        of record: Record, at share: RecordAddress, in keys: inout ZoneKeys
    ) throws(CallFailure) {
        guard let sharing = record.sharing, let newest = sharing.newestKeys else {
            return keys.shared.learn(nil, ofShare: share.name)
        }
        var key = keys.shared.newestKey(of: share.name)
        if key == nil, keys.isOwn { key = try administratorsKey(of: share, sharing, keys) }
        do {
            guard let bytes = newest.statement else {
                throw EncryptionError.contradicted(
                    .shareStatement(share: share.name), reason: "the cloud shows keys of the share without one")
            }
            let sealed = try SealedShareStatement(bytes: bytes, share: share)
            guard let key else { return keys.shared.learn(nil, ofShare: share.name) }
            var held = keys.shared.statements[share.name]
            if held?.sealed != sealed {
                held = SharedKeys.HeldStatement(
                    sealed: sealed, opened: try connection.keys.open(sealed, under: key, as: keys.access))
            }
            let found = held?.opened.contradictions(in: sharing, isManager: sharing.isManaged) ?? []
            if sharing.isManaged, !found.isEmpty { connection.keys.ask(found.compactMap(\.question), about: share) }
            let refusal = found.first.map {
                EncryptionError.contradicted(.shareStatement(share: share.name), reason: $0.reason)
            }
            keys.shared.learn(held, refusal: refusal, ofShare: share.name)
        } catch let error as EncryptionError {
            keys.shared.learn(nil, refusal: error, ofShare: share.name)
        } catch {
            throw CallFailure(error)
        }
    }

    /// Remembers, on an administrator's device, who else is one.
    private func noteAdministrators(
        of record: Record, at share: RecordAddress, in keys: inout ZoneKeys
    ) throws(CallFailure) {
        guard !keys.isOwn, let sharing = record.sharing, sharing.currentParticipant?.role == .administrator,
            let own = try? keys.access.secret.identity()
        else { return }
        let isEnded = try connection.keys.note(
            administrators: administrators(of: sharing, keys), of: share, epoch: sharing.keys?.epoch ?? 0,
            own: own.publicIdentity)
        if isEnded { keys.shared.forgetAuthority(of: share.name) }
    }

    /// Returns the identities of a share's administrators, also of those whose accounts are disabled: this user's, and those that this device
    /// has pinned.
    private func administrators(of sharing: Share, _ keys: ZoneKeys) -> Set<Fingerprint> {
        sharing.administrators { host in
            if host.id == sharing.currentParticipantID {
                return (try? keys.access.secret.identity())?.publicIdentity.fingerprint
            }
            guard let user = host.identity.user else { return nil }
            return try? connection.keys.identities.known.fingerprint(
                of: IdentityPins.name(of: user.recordName, in: keys.place))
        }
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
            let secret = keys.isOwn ? ownLink(of: share, sharing, keys) : knownLink(of: share, keys)
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

    /// Returns the secret of the link of another user's share, from the share's keys or as it was opened.
    private func knownLink(of share: RecordAddress, _ keys: ZoneKeys) -> ShareLinkSecret? {
        keys.shared.links[share.name] ?? connection.keys.link(of: share)
    }

    /// Returns the secret of the link of the account's own share; nil while no statement confirms which tree is shared: the secret of another
    /// one would open that one's share.
    private func ownLink(of share: RecordAddress, _ sharing: Share, _ keys: ZoneKeys) -> ShareLinkSecret? {
        let root = keys.shared.statements[share.name]?.opened.root
        guard root != nil || share.name == Share.zoneWideName else { return nil }
        return keys.access.root.linkSecret(of: share, root: root, opening: sharing.newestKeys?.link)
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
