import CloudKitEncryption
import CloudKitModel
import CloudKitServer

// MARK: Sharing

extension Simulation {
    /// Shares a record of the owner's device.
    func shareTree(on index: Int) async throws {
        guard let place = pick(ownPlaces(of: devices[index].person)),
            let root = pick(devices[index].records(in: place))?.id.recordName
        else { return }
        try await shareTree(root, in: place, on: index)
    }

    private func shareTree(_ root: String, in place: Place, on index: Int) async throws {
        try await repair(below: root, in: place, on: index)
        var edit = edit(root, .update, in: place, on: index)
        let name = "S\(fresh())"
        var change = ShareChange(root: .init(recordName: root))
        openOrInvite(&change, by: devices[index].person)
        guard try await sealForMove(&edit, sharedAs: name, in: &change, on: index) else { return }
        try await begin(name, change, with: edit, in: place, on: index)
    }

    /// Shares a tree whose lowest record has a later epoch than its ancestors, which are encrypted again first.
    func shareGrownTree(on index: Int) async throws {
        guard let place = pick(ownPlaces(of: devices[index].person)) else { return }
        try await sync(on: index)
        let zone = model[place]
        let free = Self.recordNames.filter { zone.items[$0] == nil }
        guard zone.state == .live, free.count >= 3 else { return }
        for (position, name) in free.prefix(3).enumerated() {
            try await add(name, below: position == 0 ? nil : free[position - 1], in: place, on: index)
        }
        guard try await raiseEpoch(of: place, on: index), try await learnEpoch(of: place, on: index) else { return }
        var edit = edit(free[2], .update, in: place, on: index)
        guard try await sealForMove(&edit, on: index) else { return }
        try await save(edit, on: index, "updates")
        try await shareTree(free[0], in: place, on: index)
    }

    /// Most histories begin with a share that has participants, so that later steps affect them.
    func beginTogether() async throws {
        for place in SimulatedUsers.zones where roll(2) == 0 {
            let index = device(of: place.owner)
            for (position, name) in Self.recordNames.prefix(4).enumerated() {
                try await add(name, below: position == 0 || position == 3 ? nil : "R0", in: place, on: index)
            }
            if roll(4) == 0 {
                try await shareZone(place, on: index)
            } else {
                try await shareTree("R0", in: place, on: index)
            }
        }
        for index in devices.indices {
            try await accept(on: index)
            try await sync(on: index)
        }
    }

    /// Shares a whole zone.
    func shareZone(on index: Int) async throws {
        guard let place = pick(ownPlaces(of: devices[index].person)) else { return }
        try await shareZone(place, on: index)
    }

    private func shareZone(_ place: Place, on index: Int) async throws {
        var change = ShareChange()
        openOrInvite(&change, by: devices[index].person)
        guard try await keyZoneShare(&change, in: place, on: index) else { return }
        try await begin(Share.zoneWideName, change, with: nil, in: place, on: index)
    }

    private func ownPlaces(of person: Int) -> [Place] { SimulatedUsers.zones.filter { $0.owner == person } }

    private func openOrInvite(_ change: inout ShareChange, by person: Int) {
        if roll(2) == 0 { change.allowsAccessRequests = true }
        if roll(5) == 0 {
            change.publicPermission = roll(2) == 0 ? .readOnly : .readWrite
            return
        }
        let others = SimulatedUsers.names.indices.filter { $0 != person && roll(2) == 0 }
        change.participants = others.map {
            invitation(
                $0, role: roll(3) == 0 ? .administrator : .privateUser,
                permission: roll(3) == 0 ? .readOnly : .readWrite)
        }
        if roll(5) == 0 { change.participants?.append(openSlot()) }
        if change.participants?.isEmpty == true { change.participants = nil }
    }

    /// Invites by account, or by an address that may have no account.
    private func invitation(
        _ person: Int, role: ParticipantRole, permission: ParticipantPermission
    ) -> ParticipantChange {
        let user = person < people.users.count && roll(3) > 0 ? people.users[person] : nil
        return ParticipantChange(
            role: role, permission: permission,
            lookup: user == nil ? LookupInfo(emailAddress: SimulatedUsers.email(person)) : nil, user: user)
    }

    /// Creates a one-time link for its first user.
    private func openSlot() -> ParticipantChange {
        ParticipantChange(
            id: "seat-\(fresh())", permission: roll(3) == 0 ? .readOnly : .readWrite, isOneTime: true)
    }

    private func begin(
        _ name: String, _ change: ShareChange, with edit: Edit?, in place: Place, on index: Int
    ) async throws {
        let share = RecordOperation(
            .create, RecordChange(recordName: name, recordType: Validity.shareRecordType, share: change))
        let event = "\(devices[index].name) shares \(edit?.name ?? "everything") in \(place) as \(name)\(text(change))"
        let records = try await deliver(event) {
            try await judgedBeginning(
                name, change: change, share: share, edit: edit, in: place, on: index)
        }
        guard let records, let record = records.last else { return }
        for record in records { devices[index].keep(record, in: place) }
        try await tend(record, in: place, on: index)
    }

    private func text(_ change: ShareChange) -> String {
        var text = ""
        if let permission = change.publicPermission, permission != .none { text += " open to all (\(permission))" }
        for participant in change.participants ?? [] {
            let person = people.person(participant).map { SimulatedUsers.names[$0] } ?? participant.id ?? "?"
            text +=
                " \(person):\(participant.role == .administrator ? "administrator" : "\(participant.permission ?? .unknown)")"
        }
        if let allows = change.allowsAccessRequests { text += allows ? " (any user may ask)" : " (no user may ask)" }
        for (word, users) in [
            ("sends away", change.denied), ("blocks", change.blocked), ("unblocks", change.unblocked),
        ] {
            for person in users.compactMap(people.person) { text += " \(word) \(SimulatedUsers.names[person])" }
        }
        return text
    }

    private func judgedBeginning(
        _ name: String, change: ShareChange, share: RecordOperation, edit: Edit?, in place: Place, on index: Int
    ) async throws -> [Record] {
        let device = devices[index]
        let whole = zoneRefusal(place, by: device.person)
        let refusal = edit.flatMap { self.refusal($0, by: device.person) } ?? beginRefusal(name, change, in: place)
        let answer = try await Answer {
            try await cloud.modifyRecords(
                ModifyRecordsRequest(
                    operations: (edit.map { [$0.operation] } ?? []) + [share], zoneID: zoneID(place, for: device)),
                in: address(place, for: device), by: device.caller)
        }
        switch answer {
        case .refused(let failure):
            try check(failure.code == whole, "sharing: \(failure.code), where the model says \(text(whole))")
            return []
        case .done(let outcomes):
            let codes = outcomes.compactMap { if case .failed(_, let failure) = $0 { failure.code } else { nil } }
            try check(whole == nil, "a share was saved, where the model says \(text(whole))")
            guard codes.isEmpty else {
                note("    \(codes)")
                if codes.contains(.staleKeyEpoch) { try await learnEpoch(of: place, on: index) }
                try check(codes.count == outcomes.count, "a part of a share's batch was saved")
                if case .failed(_, let failure)? = outcomes.first, failure.code == .conflict, let edit {
                    let record = failure.serverRecord?.value
                    try check(record?.changeTag != edit.tag, "a conflict with the version that the cloud holds")
                    if let record { devices[index].keep(record, in: place) }
                    return []
                }
                if withoutRoom.contains(place.owner), codes.contains(.quotaExceeded) { return [] }
                try check(
                    refusal.map(codes.contains) ?? false, "sharing: \(codes), where the model says \(text(refusal))")
                return []
            }
            try check(refusal == nil, "a share began, where the model says \(text(refusal))")
            guard case .record(let record)? = outcomes.last, let guid = record.shortGUID else {
                throw Violation("a share has no link")
            }
            var tree = Model.Tree(root: edit?.name, guid: guid)
            tree.apply(change, people)
            model[place].trees[name] = tree
            meet(tree, place)
            if let keys = change.keys {
                heldKeys.append(HeldKeys(share: RecordAddress(zone: zoneAddress(place), name: name), change: keys))
            }
            hasSealed = hasSealed || edit?.secret != nil
            if let edit {
                var content = edit.applied(to: model[place].items[edit.name])
                content.share = name
                model[place].items[edit.name] = content
                model[place].note(edit.secret?.protection ?? model[place].protections[edit.name], of: edit.name)
                if case .record(let root)? = outcomes.first {
                    model[place].creations[edit.name] = root.created.timestamp
                }
            }
            links[guid] = Link(
                place: place, incarnation: model[place].incarnation, share: name, root: edit?.name,
                fragment: device.keys.linkFragment(of: name, root: edit?.name, in: zoneAddress(place)))
            try checkShare(record, in: place, for: device.person)
            return outcomes.compactMap { if case .record(let record) = $0 { record } else { nil } }
        }
    }

    private func beginRefusal(_ name: String, _ change: ShareChange, in place: Place) -> RequestFailure.Code? {
        let zone = model[place]
        if zone.trees[name] != nil { return .recordExists }
        guard let root = change.root?.recordName else { return zone.trees.isEmpty ? nil : .badRequest }
        if zone.isSharedWhole { return .serverRejected }
        let overlaps = zone.tree(of: root) != nil || zone.subtree(of: root).contains(where: zone.isRoot)
        return overlaps ? .alreadyShared : nil
    }
}

extension Model.Tree {
    /// Returns a change of a share for a permitted user.
    mutating func apply(_ change: ShareChange, _ people: SimulatedUsers) {
        if let permission = change.publicPermission {
            if openTo == .none, permission != .none { slots = slots.filter { $0.value.hasAccepted } }
            if openTo == .none, permission != .none { openSlots = [:] }
            if permission == .none { slots = slots.filter { !$0.value.isPublic } }
            openTo = permission
        }
        let (denied, unblocked) = (change.denied.compactMap(people.person), change.unblocked.compactMap(people.person))
        let blocked = change.blocked.compactMap(people.person)
        self.blocked = self.blocked.union(blocked).subtracting(unblocked)
        requesters = requesters.subtracting(denied).subtracting(blocked)
        for person in blocked where slots[person]?.isBound == true { slots[person] = nil }
        if let allows = change.allowsAccessRequests { allowsRequests = allows }
        if let participants = change.participants { apply(participants, people) }
    }

    private mutating func apply(_ participants: [ParticipantChange], _ people: SimulatedUsers) {
        var after: [Int: Model.Slot] = [:]
        var open: [String: ParticipantPermission] = [:]
        for participant in participants {
            guard let person = people.person(participant) else {
                let id = participant.id ?? "?"
                open[id] = participant.permission ?? openSlots[id] ?? .readOnly
                continue
            }
            let isBound = person < people.users.count
            var slot = slots[person] ?? Model.Slot(permission: .readOnly, isBound: isBound)
            if let role = participant.role { slot.isAdministrator = role == .administrator }
            slot.permission = slot.isAdministrator ? .readWrite : participant.permission ?? slot.permission
            after[person] = slot
        }
        slots = after
        openSlots = open
        let known = after.filter(\.value.isBound).keys
        requesters.subtract(known)
        blocked.subtract(known)
    }
}

extension Simulation {
    /// Records the participants of the zone.
    private func meet(_ tree: Model.Tree, _ place: Place) {
        for person in tree.slots.keys { known.insert(KnownZone(person: person, place: place)) }
    }
}

// MARK: Changing

extension Simulation {
    /// Changes a known share, with or without permission.
    func changeShare(on index: Int) async throws {
        let device = devices[index]
        let known = device.zones.keys.sorted().flatMap { place in device.shares(in: place).map { (place, $0) } }
        let hosted = known.filter { place, record in
            place.owner == device.person || record.sharing?.currentParticipant?.role == .administrator
        }
        let asked = hosted.filter { $0.1.sharing?.requesters.isEmpty == false }
        let some = hosted.isEmpty || roll(8) == 0 ? known : asked.isEmpty || roll(3) == 0 ? hosted : asked
        guard let (place, record) = pick(some) else { return }
        guard let change = someChange(of: record, in: place) else { return }
        try await self.change(record, change, in: place, on: index)
    }

    /// Returns the shares with requesters or blocked users.
    private var guests: [(Place, String)] {
        SimulatedUsers.zones.flatMap { place in
            model[place].trees.filter { !$0.value.requesters.isEmpty || !$0.value.blocked.isEmpty }.keys.sorted()
                .map { (place, $0) }
        }
    }

    /// An owner or administrator answers a requester or a blocked user.
    func answerGuests() async throws {
        if guests.isEmpty { try await askForAccess(on: roll(devices.count)) }
        guard let (place, name) = pick(guests), let tree = model[place].trees[name] else { return }
        let hosts = devices.indices.filter {
            devices[$0].person == place.owner || tree.role(of: devices[$0].person) == .administrator
        }
        guard let index = pick(hosts) else { return }
        try await sync(on: index)
        guard let record = devices[index].shares(in: place).first(where: { $0.id.recordName == name }),
            let sharing = record.sharing, let change = answerToGuests(sharing)
        else { return }
        try await self.change(record, change, in: place, on: index)
        guard let user = change.blocked.first, let person = people.person(user) else { return }
        // The link does not work for blocked users.
        try await open(tree.guid, on: device(of: person))
        try await ask(at: tree.guid, on: device(of: person))
        guard roll(2) == 0, let now = devices[index].shares(in: place).first(where: { $0.id.recordName == name })
        else { return }
        try await self.change(now, ShareChange(unblocked: [user]), in: place, on: index)
        try await open(tree.guid, on: device(of: person))
    }

    /// An administrator, if any, removes a participant, and members write before one of the owner's devices is online.
    func removeByAdministrator() async throws {
        let hosts = devices.indices.flatMap { index in
            devices[index].zones.keys.sorted().compactMap { place in
                model[place].trees.values.contains { $0.role(of: devices[index].person) == .administrator }
                    ? (index, place) : nil
            }
        }
        guard let (index, place) = pick(hosts) else { return }
        try await sync(on: index)
        let user = people.users[devices[index].person]
        let hosted = devices[index].shares(in: place).filter { record in
            record.sharing?.currentParticipant?.role == .administrator
                && record.sharing?.publicPermission == ParticipantPermission.none
        }
        guard let record = pick(hosted), let sharing = record.sharing else { return }
        var participants = sharing.otherParticipants
        let others = participants.indices.filter { participants[$0].user != user }
        guard let gone = pick(Array(others)) else { return }
        participants.remove(at: gone)
        try await change(record, ShareChange(participants: participants), in: place, on: index)
        let tree = model[place].trees[record.id.recordName]
        let members = devices.indices.filter { tree?.isMember(devices[$0].person) ?? false }
        guard let writer = pick(Array(members)) else { return }
        try await sync(on: writer)
        guard let name = pick(devices[writer].records(in: place))?.id.recordName else { return }
        var edit = edit(name, .update, in: place, on: writer)
        guard try await sealForMove(&edit, on: writer) else { return }
        try await save(edit, on: writer, "updates")
    }

    private func someChange(of record: Record, in place: Place) -> ShareChange? {
        guard let sharing = record.sharing else { return nil }
        if sharing.publicPermission != .none {
            return ShareChange(publicPermission: pick([.none, .none, .readOnly, .readWrite]))
        }
        if roll(8) == 0 { return ShareChange(publicPermission: roll(2) == 0 ? .readOnly : .readWrite) }
        if let change = answerToRequesters(sharing) { return change }
        var participants = sharing.otherParticipants
        let present = Set(participants.compactMap(people.person))
        let absent = SimulatedUsers.names.indices.filter { $0 != place.owner && !present.contains($0) }
        switch roll(5) {
        case 0: if !participants.isEmpty { participants.remove(at: roll(participants.count)) }
        case 1:
            guard !participants.isEmpty else { break }
            let one = roll(participants.count)
            participants[one].permission = participants[one].permission == .readOnly ? .readWrite : .readOnly
            if participants[one].role == .administrator { participants[one].role = .privateUser }
        case 2:
            guard !participants.isEmpty else { break }
            let one = roll(participants.count)
            if participants[one].isOneTime { break }
            participants[one].role = participants[one].role == .administrator ? .privateUser : .administrator
        case 3: participants.append(openSlot())
        default:
            if let person = pick(absent) {
                participants.append(
                    invitation(person, role: .privateUser, permission: roll(3) == 0 ? .readOnly : .readWrite))
            }
        }
        return ShareChange(participants: participants)
    }

    /// Approves, denies or blocks a requester.
    private func answerToRequesters(_ sharing: Share) -> ShareChange? {
        if roll(8) == 0 { return ShareChange(allowsAccessRequests: !sharing.allowsAccessRequests) }
        if let user = pick(sharing.participants.filter { $0.role != .owner }.compactMap(\.identity.user)), roll(10) == 0
        {
            return ShareChange(blocked: [user])
        }
        return roll(3) > 0 ? answerToGuests(sharing) : nil
    }

    private func answerToGuests(_ sharing: Share) -> ShareChange? {
        if let user = pick(sharing.blocked.compactMap(\.user)), roll(2) == 0 { return ShareChange(unblocked: [user]) }
        guard let user = pick(sharing.requesters.compactMap(\.user)) else { return nil }
        switch roll(sharing.publicPermission == .none ? 5 : 3) {
        case 0: return ShareChange(denied: [user])
        case 1, 2: return ShareChange(blocked: [user])
        default:
            let newcomer = ParticipantChange(permission: .readWrite, user: user)
            return ShareChange(participants: sharing.otherParticipants + [newcomer])
        }
    }

    func change(_ record: Record, _ change: ShareChange, in place: Place, on index: Int) async throws {
        let name = record.id.recordName
        let event = "\(devices[index].name) changes \(name) in \(place):\(text(change))"
        let saved = try await deliver(event) {
            try await judgedChange(record, change, in: place, on: index)
        }
        if let saved = saved ?? nil {
            devices[index].keep(saved, in: place)
            try await tend(saved, in: place, on: index)
        }
    }

    private func judgedChange(
        _ record: Record, _ change: ShareChange, in place: Place, on index: Int
    ) async throws -> Record? {
        let device = devices[index]
        let name = record.id.recordName
        let operation = RecordOperation(
            .update,
            RecordChange(
                recordName: name, recordType: Validity.shareRecordType, changeTag: record.changeTag, share: change))
        let whole = zoneRefusal(place, by: device.person)
        let answer = try await Answer {
            try await cloud.modifyRecords(
                ModifyRecordsRequest(operations: [operation], zoneID: zoneID(place, for: device)),
                in: address(place, for: device), by: device.caller)[0]
        }
        guard case .done(let outcome) = answer else {
            guard case .refused(let failure) = answer else { return nil }
            try check(failure.code == whole, "change of a share: \(failure.code), the model says \(text(whole))")
            return nil
        }
        try check(whole == nil, "a share was changed, where the model says \(text(whole))")
        let tree = model[place].trees[name]
        var refusal: RequestFailure.Code?
        if let tree, device.person != place.owner {
            if !tree.isMember(device.person) {
                refusal = .itemNotFound
            } else if model.word(for: "rename", object: "share", role: tree.role(of: device.person)) != "yes" {
                refusal = .accessDenied
            }
        }
        if tree == nil { refusal = .itemNotFound }
        switch outcome {
        case .failed(_, let failure) where failure.code == .conflict && refusal == nil:
            try check(failure.serverRecord?.value.changeTag != record.changeTag, "a conflict with the version held")
            if let held = failure.serverRecord?.value { try checkShare(held, in: place, for: device.person) }
            return failure.serverRecord?.value
        case .failed(_, let failure):
            note("    \(failure.code)")
            try check(
                failure.code == refusal || lacksCapacity(failure, place),
                "change of \(name): \(failure.code) \(failure.reason), where the model says \(text(refusal))")
            return nil
        case .record(let saved):
            try check(refusal == nil, "\(name) was changed, where the model says \(text(refusal))")
            model[place].trees[name]?.apply(change, people)
            if let tree = model[place].trees[name] { meet(tree, place) }
            try checkShare(saved, in: place, for: device.person)
            return saved
        case .deleted: throw Violation("a change of \(name) was answered as a deletion")
        }
    }

    /// Ends or leaves a share.
    func endShare(on index: Int) async throws {
        let device = devices[index]
        let known = device.zones.keys.sorted().flatMap { place in device.shares(in: place).map { (place, $0) } }
        guard let (place, record) = pick(known) else { return }
        try await delete(record.id.recordName, in: place, on: index)
    }
}

// MARK: Joining

extension Simulation {
    /// Opens a link and accepts, with or without an invitation.
    func accept(on index: Int) async throws {
        let person = devices[index].person
        let meant = links.filter { link in
            model[link.value.place].trees[link.value.share].map {
                link.value.slot.map($0.openSlots.keys.contains)
                    ?? ($0.guid == link.key && ($0.slots[person] != nil || $0.openTo != .none))
            }
                ?? false
        }
        guard let guid = pick((roll(5) == 0 || meant.isEmpty ? links : meant).keys.sorted()) else { return }
        try await open(guid, on: index)
        // Links are passed on; some work only for their first user.
        guard links[guid]?.slot != nil, roll(3) > 0,
            let other = pick(devices.indices.filter { devices[$0].person != person })
        else { return }
        try await open(guid, on: other)
    }

    private func open(_ guid: String, on index: Int) async throws {
        guard let link = links[guid] else { return }
        // A user who is also invited by address would have two slots; the model supports one per user.
        let slot = model[link.place].trees[link.share]?.slots[devices[index].person]
        if link.slot != nil, slot?.isBound == false { return }
        let isFree = link.slot.map { model[link.place].trees[link.share]?.openSlots[$0] != nil }
        let what = isFree.map { $0 ? "takes the free slot" : "tries the taken slot" } ?? "opens the link"
        _ = try await deliver("\(devices[index].name) \(what) of \(link.share) in \(link.place)") {
            try await judgedAcceptance(guid, link, on: index)
        }
    }

    private func judgedAcceptance(_ guid: String, _ link: Link, on index: Int) async throws {
        let device = devices[index]
        let name = share(behind: guid, link)
        var tree = name.flatMap { model[link.place].trees[$0] }
        let verdict = tree?.verdict(on: device.person, ownedBy: link.place.owner, openSlot: link.slot)
        let refusal = verdict.map { tree?.accept(device.person, $0) } ?? .itemNotFound
        let outcome = try await cloud.acceptShares(
            [ShareInvitationRequest(shortGUID: guid)], of: people.users[link.place.owner], in: world.address(.public),
            by: device.caller)[0]
        switch outcome {
        case .failed(let failure):
            note("    \(failure.code)")
            try check(
                failure.code == refusal,
                "accepting: \(failure.code) \(failure.reason), where the model says \(text(refusal))")
        case .invitation(let invitation):
            try check(refusal == nil, "an invitation was accepted, where the model says \(text(refusal))")
            try check(invitation.share.id.recordName == name, "a link led to \(invitation.share.id.recordName)")
            if let name { model[link.place].trees[name] = tree }
            if let tree { meet(tree, link.place) }
            try checkShare(invitation.share, in: link.place, for: device.person)
            if device.person != link.place.owner {
                keep(
                    link, as: invitation.share.id.recordName, by: device, verdict,
                    isOpen: tree?.openTo != ParticipantPermission.none)
            }
        }
    }

    /// Returns the secret of a link. A private share's link has none. That of a free slot is known to the device that used it; the
    /// user's other devices wait for keys.
    private func keep(_ link: Link, as share: String, by device: Device, _ verdict: Model.Tree.Verdict?, isOpen: Bool) {
        if link.slot == nil {
            if isOpen { device.keys.keep(link.fragment, of: share, in: zoneAddress(link.place)) }
            return
        }
        guard case .openSlot? = verdict else { return }
        device.keys.keep(link.fragment, of: share, in: zoneAddress(link.place))
    }

    /// Returns the current share of a link.
    private func share(behind guid: String, _ link: Link) -> String? {
        let zone = model[link.place]
        guard zone.state == .live, zone.incarnation == link.incarnation else { return nil }
        if link.slot == nil { return zone.trees.first { $0.value.guid == guid }?.key }
        guard let root = link.root else { return zone.isSharedWhole ? zone.tree(of: "") : nil }
        return zone.items[root]?.share
    }

    /// Requests access to a share.
    func askForAccess(on index: Int) async throws {
        let person = devices[index].person
        let meant = links.filter { link in
            model[link.value.place].trees[link.value.share].map {
                $0.allowsRequests && $0.guid == link.key && $0.slots[person] == nil && link.value.place.owner != person
            } ?? false
        }
        guard let guid = pick((roll(4) == 0 || meant.isEmpty ? links : meant).keys.sorted()) else { return }
        try await ask(at: guid, on: index)
    }

    private func ask(at guid: String, on index: Int) async throws {
        guard let link = links[guid] else { return }
        let device = devices[index]
        // As for accepting: approved, the person would have two slots at the cloud, and one in the model.
        let slot = model[link.place].trees[link.share]?.slots[device.person]
        if link.slot != nil, slot?.isBound == false { return }
        _ = try await deliver("\(device.name) asks for access to \(link.share) in \(link.place)") {
            let name = share(behind: guid, link)
            var tree = name.flatMap { model[link.place].trees[$0] }
            let verdict = tree?.verdict(on: device.person, ownedBy: link.place.owner, openSlot: link.slot)
            let expected = verdict.flatMap { tree?.ask(device.person, $0) }
            let failure = try await cloud.requestAccess(
                [ShareInvitationRequest(shortGUID: guid)], of: people.users[link.place.owner],
                in: world.address(.public), by: device.caller)[0]
            if let failure { note("    \(failure.code)") }
            try check(
                failure?.code == expected,
                "asking for access: \(text(failure?.code)), where the model says \(text(expected))")
            if let name { model[link.place].trees[name] = tree }
        }
    }

    /// Records one-time links with their secrets, which the owner's devices know.
    func learnSlots(of record: Record, in place: Place, on index: Int) {
        guard devices[index].person == place.owner, let sharing = record.sharing else { return }
        let name = record.id.recordName
        for participant in sharing.participants {
            guard let guid = participant.oneTimeGUID, links[guid] == nil else { continue }
            links[guid] = Link(
                place: place, incarnation: model[place].incarnation, share: name, root: sharing.root,
                slot: participant.id,
                fragment: devices[index].keys.linkFragment(
                    of: name, root: sharing.root, slot: participant.id, in: zoneAddress(place)))
        }
    }

    /// Leaves a zone of another user.
    func leaveZone(on index: Int) async throws {
        let device = devices[index]
        guard let place = pick(SimulatedUsers.zones.filter { $0.owner != device.person }) else { return }
        _ = try await deliver("\(device.name) leaves \(place)") {
            let whole = zoneRefusal(place, by: device.person)
            let outcome = try await cloud.modifyZones(
                [.delete(zoneID(place, for: device))], in: world.address(.shared), by: device.caller)[0]
            if case .failed(_, let failure) = outcome {
                try check(failure.code == whole, "leaving: \(failure.code), where the model says \(text(whole))")
                return
            }
            try check(whole == nil, "left a zone, where the model says \(text(whole))")
            for name in model[place].trees.keys where model[place].trees[name]?.isMember(device.person) == true {
                model[place].trees[name]?.slots[device.person] = nil
            }
        }
    }
}

extension Share {
    /// Returns all participants except the owner, unchanged, for a change.
    fileprivate var otherParticipants: [ParticipantChange] {
        participants.filter { $0.role != .owner }.map {
            ParticipantChange(
                id: $0.id, role: $0.role, permission: $0.permission, lookup: $0.identity.lookup, user: $0.identity.user,
                isOneTime: $0.oneTimeGUID != nil)
        }
    }
}
