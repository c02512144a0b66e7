import CloudKitModel
import OrderedStore

/// Rows of shares, their members and the shared databases of members.
extension RowCheck {
    /// Each user who has accepted a share has a slot in it.
    mutating func checkMembers(of share: StoredShare, _ zone: UInt32, _ view: ReadTransaction) async throws {
        for participant in share.participants where participant.acceptance == .accepted {
            let permission = participant.role == .publicUser ? share.publicPermission : participant.permission
            guard permission.canRead, let user = participant.user else { continue }
            if try await view.shareMember(zone: zone, user: user)?.slot(in: share.number) == nil {
                note(.share, "zone \(zone), record \(share.name)", "a participant who accepted it is no member")
            }
        }
    }

    mutating func checkShareMember(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .shareMember)
        let zone = try key.zoneNumber(.shareMember)
        let member = try ShareMember(user: UserID(key.readString()), decoding: entry.value)
        if member.slots.isEmpty { note(.shareMember, "zone \(zone)", "a member has no participant slot") }
        for slot in member.slots {
            let share = try await view.share(zone: zone, name: slot.shareName)
            if share?.number != slot.share || share?.root != slot.root {
                note(.shareMember, "zone \(zone), record \(slot.shareName)", "the share of a member's slot is missing")
            } else if share?.participant(of: member.user)?.acceptance != .accepted {
                note(.shareMember, "zone \(zone), record \(slot.shareName)", "a member of the share is no participant")
            }
        }
    }

    mutating func checkShareMembership(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .shareMembership)
        let zone = try key.zoneNumber(.shareMembership)
        let name = try key.readString()
        let membership = try ShareMembership(decoding: entry.value)
        guard shares[zone]?.contains(membership.share) == true else { return }
        let feed = try await view.shareFeedEntry(zone: zone, share: membership.share, version: membership.version)
        if feed?.recordName != name || feed?.isTombstone != false {
            note(.shareMembership, "zone \(zone), record \(name)", "it has no entry in the feed of its share")
        }
        if try await record(name, zone, view)?.isTombstone ?? true {
            note(.shareMembership, "zone \(zone), record \(name)", "a record that belongs to a share is missing")
        }
    }

    mutating func checkShareFeed(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .shareFeed)
        let zone = try key.zoneNumber(.shareFeed)
        let share = try key.readVersion()
        let feed = try FeedEntry(version: key.readVersion(), value: entry.value)
        guard shares[zone]?.contains(share) == true else { return }
        let version: UInt64?
        if feed.isTombstone {
            version = try await view.shareLeavings(zone: zone, share: share, recordNames: [feed.recordName])[0]?.version
        } else {
            let membership = try await view.shareMemberships(zone: zone, recordNames: [feed.recordName])[0]
            version = membership?.share == share ? membership?.version : nil
        }
        if version != feed.version {
            note(
                .shareFeed, "zone \(zone), version \(feed.version)", "no record has its last change in the share there")
        }
    }

    mutating func checkShareLeaving(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .shareLeaving)
        let zone = try key.zoneNumber(.shareLeaving)
        let share = try key.readVersion()
        let name = try key.readString()
        let leaving = try ShareLeaving(decoding: entry.value)
        guard shares[zone]?.contains(share) == true else { return }
        let feed = try await view.shareFeedEntry(zone: zone, share: share, version: leaving.version)
        if feed?.recordName != name || feed?.isTombstone != true {
            note(.shareLeaving, "zone \(zone), record \(name)", "the feed of the share does not say that it left")
        }
    }

    mutating func checkShareKey(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .shareKey)
        _ = try key.zoneNumber(.shareKey)
        guard try ShareKeyName(&key) != nil, key.rest.isEmpty else { throw DamagedValue(.shareKey) }
    }

    mutating func checkZoneShareGUID(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .zoneShareGUID)
        _ = try key.zoneNumber(.zoneShareGUID)
        guard !entry.value.isEmpty, String(validating: entry.value, as: UTF8.self) != nil else {
            throw DamagedValue(.zoneShareGUID)
        }
    }

    mutating func checkJoinedZone(_ entry: Entry, _ view: ReadTransaction) async throws {
        let zone = try JoinedZone(entry)
        if try await view.get(JoinedZone.feedKey(zone.feedVersion)) != entry.key {
            note(.joinedZone, "the shared database", "a zone has no entry in its feed")
        }
        if zone.feedVersion > joinedVersion {
            note(.joinedZone, "the shared database", "a zone has a later version than the database")
        }
    }

    mutating func checkJoinedFeed(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .joinedFeed)
        let version = try key.readVersion()
        guard let value = try await view.get(entry.value) else {
            return note(.joinedFeed, "the shared database", "its feed names a zone that is missing")
        }
        if try JoinedZone(Entry(key: entry.value, value: value)).feedVersion != version {
            note(.joinedFeed, "the shared database", "no zone has its last change at a version of its feed")
        }
    }
}

extension KeyReader {
    /// Reads the number of a zone.
    mutating func zoneNumber(_ subspace: Subspace) throws -> UInt32 {
        guard let zone = UInt32(exactly: try readInteger()) else { throw DamagedValue(subspace) }
        return zone
    }
}
