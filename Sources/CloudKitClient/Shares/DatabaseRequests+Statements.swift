import CloudKitDevice
import CloudKitEncryption
import CloudKitModel

/// The statements that follow from what apps save.
extension DatabaseRequests {
    /// The batch with the statements of the shares whose terms it changes: each says what the one before it said, with what the app
    /// changed, and nothing that only the cloud says.
    func stated(_ batch: ModifyPlan.Batch, _ keys: inout ZoneKeys) async throws -> ModifyPlan.Batch {
        let changed = batch.items.indices.filter { batch.items[$0].operation.changesTerms }
        guard !changed.isEmpty else { return batch }
        var batch = batch
        let zone = batch.zoneID
        var found = try await looked(at: changed.map { batch.items[$0].id.recordName }, in: zone, desiredKeys: [])
        await take(found, in: zone, into: &keys)
        if found.contains(where: { keys.shared.newestKey(of: $0.id.recordName) == nil && $0.sharing?.keys != nil }) {
            // The owner follows an administrator's epoch first.
            found = await maintained(found)
            keys = try await zoneKeys(zone)
            await take(found, in: zone, into: &keys)
        }
        for index in changed {
            let name = batch.items[index].id.recordName
            guard let sharing = found.first(where: { $0.id.recordName == name })?.sharing, sharing.isManaged,
                let change = batch.items[index].operation.change.share
            else { continue }
            let share = RecordAddress(zone: keys.place, name: name)
            guard sharing.keys != nil else {
                // The share's first keys are made once it is saved.
                if keys.isOwn { try connection.keys.confirm(change.answers(in: share, root: sharing.root)) }
                continue
            }
            if let refusal = keys.shared.refusal(ofShare: name) { throw refusal }
            guard let held = keys.shared.statements[name], let key = keys.shared.newestKey(of: name),
                keys.isOwn || keys.shared.authorities[name] != nil
            else {
                // Without the key or the right to invite, a device gives nobody access: participants wait for another one. A share that gives more than
                // was stated is an error on every device.
                if !keys.isOwn, change.exceeds(sharing) {
                    throw CallFailure.waitingForKey(
                        "The right to change share '\(name)' is waiting for a device of the share's owner")
                }
                continue
            }
            let place = keys.place
            let next = held.opened.applying(change, to: sharing) {
                connection.keys.pinnedIdentity(of: $0, in: place)
            }
            // The cloud refuses a share with more.
            if next == held.opened || next.participants.count > ShareStatement.participantsMax { continue }
            batch.items[index].operation.change.share?.keys = ShareKeyChange(
                epoch: Int(key.epoch), begins: false,
                statement: try await making(keys, key).stating(next, after: held.sealed.counter))
        }
        connection.keys.keep(keys)
        return batch
    }
}

extension RecordOperation {
    /// A Boolean value that indicates whether the terms of a share that exists are changed.
    fileprivate var changesTerms: Bool {
        guard !beginsShare, !kind.isDelete, let share = change.share, share.keys == nil else { return false }
        return share.participants != nil || share.publicPermission != nil || !share.blocked.isEmpty
    }
}

extension ShareChange {
    /// Returns a Boolean value that indicates whether participants, or users who have the link, get more than they have.
    fileprivate func exceeds(_ sharing: Share) -> Bool {
        if let publicPermission, publicPermission.exceeds(sharing.publicPermission) { return true }
        return (participants ?? []).contains { change in
            guard let id = change.id, let present = sharing.participants.first(where: { $0.id == id }) else {
                return false
            }
            return change.permission?.exceeds(present.permission) ?? false
                || change.role == .administrator && present.role != .administrator
        }
    }

    /// What an app confirms by saving the change, of a share without keys.
    fileprivate func answers(in share: RecordAddress, root: String?) -> [ShareQuestions.Question] {
        var answers = (participants ?? []).filter(\.isChosen).compactMap { participant -> ShareQuestions.Question? in
            guard let id = participant.id else { return nil }
            return ShareQuestions.Question(
                share: share, participant: id,
                person: participant.user?.recordName ?? participant.lookup?.emailAddress
                    ?? participant.lookup?.normalisedPhone,
                isAdministrator: participant.role == .administrator, canWrite: participant.permission == .readWrite,
                root: root)
        }
        if let publicPermission, publicPermission.canRead {
            answers.append(
                ShareQuestions.Question(
                    share: share, participant: nil, canWrite: publicPermission == .readWrite, root: root))
        }
        return answers
    }
}

extension ParticipantPermission {
    fileprivate func exceeds(_ other: Self) -> Bool {
        ShareStatement.Permission(self) > ShareStatement.Permission(other)
    }
}
