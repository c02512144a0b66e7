import CloudKitModel
import CloudKitServer

// MARK: Zones, by their owners

extension Simulation {
    func makeZone(_ place: Place, on index: Int) async throws {
        let device = devices[index]
        _ = try await deliver("\(device.name) makes \(place)") {
            let outcome = try await cloud.modifyZones(
                [.create(zoneID(place, for: device))], in: world.address(.private), by: device.caller)[0]
            guard case .zone(let zone) = outcome else { throw Violation("no zone was made: \(outcome)") }
            try check(zone.keyEpoch >= model[place].keyEpoch, "the key epoch of \(place) went back to \(zone.keyEpoch)")
            model[place].keyEpoch = zone.keyEpoch
            if model[place].state == .live { return }
            model[place].end(.live)
            if model[place].incarnation > 0 {
                let floor = max(model[place].newestStatement, UInt64(world.time.now) - 1)
                (model[place].statementFloor, model[place].newestStatement) = (floor, floor)
            }
            model[place].incarnation += 1
        }
    }

    func deleteZone(_ place: Place, on index: Int) async throws {
        let device = devices[index]
        _ = try await deliver("\(device.name) deletes \(place)") {
            let outcome = try await cloud.modifyZones(
                [.delete(zoneID(place, for: device))], in: world.address(.private), by: device.caller)[0]
            switch (outcome, model[place].state) {
            // Deleting a zone that does not exist changes nothing (B-ZN-07).
            case (.deleted, .absent): break
            case (.deleted, .live), (.deleted, .purged), (.deleted, .reset): model[place].end(.absent)
            default: throw Violation("deleting \(place), which is \(model[place].state): \(outcome)")
            }
        }
    }

    /// Deletes, creates or purges a zone, or acknowledges a purge.
    func tendZones(on index: Int) async throws {
        guard let place = pick(SimulatedUsers.zones.filter { $0.owner == devices[index].person }) else { return }
        if model[place].state == .live, roll(3) > 0 { return }
        if model[place].state == .live || roll(3) == 0 {
            try await deleteZone(place, on: index)
        } else {
            try await makeZone(place, on: index)
        }
    }
}

// MARK: The operator, time, and the network

extension Simulation {
    func operate() async throws {
        guard let place = pick(SimulatedUsers.zones) else { return }
        let user = people.users[place.owner]
        let (container, now) = (SimulatedCloud.container, world.time.now)
        let isLive = model[place].state == .live
        switch roll(14) {
        case 0 where isLive:
            note("  the operator purges \(place)")
            writers.addOperator(in: user)
            try await EndZone(world.cloud).purge(place.zone, of: user, in: container, .development)
            model[place].end(.purged)
        case 1 where isLive:
            note("  the keys of \(place) are lost")
            writers.addOperator(in: user)
            try await EndZone(world.cloud).resetKeys(ofZone: place.zone, of: user, in: container, .development)
            model[place].end(.reset)
        case 2 where isLive:
            note("  tokens of \(place) expire")
            try await listen()
            try await ExpireTokens(world.cloud).run(ofZone: place.zone, of: user, in: container, .development)
            // Feeds repeat earlier changes, which are not new.
            try await forgetNews()
        case 3:
            note("  tokens of \(SimulatedUsers.names[place.owner])'s database expire")
            try await ExpireTokens(world.cloud).run(ofDatabaseOf: user, in: container, .development)
        case 4, 5:
            note("  deleted zones of \(SimulatedUsers.names[place.owner]) are forgotten")
            try await CompactFeeds(world.cloud).forgetDeletedZones(before: now, of: user, in: container, .development)
        case 6:
            note("  old deletions are forgotten everywhere")
            try await compact(before: now - Int64(roll(2)) * 3_600_000)
        case 7, 8: try await sweep()
        case 9: try await exhaustQuota(of: place)
        case 10... where isLive:
            try await forgetDeletions(before: now - Int64(roll(2)) * 3_600_000, in: place)
        default: break
        }
    }

    /// Exhausts the quota of a zone's database and lets its owner try to save.
    private func exhaustQuota(of place: Place) async throws {
        note("  the quota is exhausted for \(SimulatedUsers.names[place.owner])")
        _ = try await RunFaultOrder(world.cloud).run(
            .fault(.quota, for: .user(people.users[place.owner]), seconds: nil, bytes: 1, sendsRetryAfter: false),
            in: SimulatedCloud.container, .development)
        withoutRoom.insert(place.owner)
        guard let free = pick(Self.recordNames.filter { model[place].items[$0] == nil }) else { return }
        try await add(free, below: nil, in: place, on: device(of: place.owner))
    }

    /// Runs the body without losing requests or answers.
    func withoutFaults(_ body: () async throws -> Void) async rethrows {
        let before = trouble
        trouble = 0
        defer { trouble = before }
        try await body()
    }

    /// Removes records from the zone or their tree and compacts the feed, so that offline devices have to start again.
    func forgetWhatWent() async throws {
        let kept = SimulatedUsers.zones.filter { !model[$0].items.isEmpty }
        let shared = kept.filter { place in SimulatedUsers.names.indices.contains { model.isMember($0, of: place) } }
        guard let place = pick(shared.isEmpty ? kept : shared) else { return }
        for index in devices.indices where model.role(of: devices[index].person, in: place) != .stranger {
            try await sync(on: index)
        }
        let index = device(of: place.owner)
        let zone = model[place]
        let names = zone.items.keys.filter { !zone.isRoot($0) }.sorted()
        let leaves = names.filter { zone.children(of: $0).isEmpty }
        let inside = names.filter { zone.items[$0]?.parent != nil && zone.tree(of: $0) != nil }
        if let name = pick(roll(2) == 0 ? leaves : leaves.filter(inside.contains)) {
            try await delete(name, in: place, on: index)
        }
        if let name = pick(inside) {
            var edit = edit(name, .update, in: place, on: index)
            edit.parent = .remove
            if try await sealForMove(&edit, on: index) { try await save(edit, on: index, "moves, below nothing,") }
        }
        jump(3_600_000)
        try await forgetDeletions(before: world.time.now, in: place)
        for device in devices {
            let visible = model.visible(to: device.person, in: place)
            for record in device.records(in: place) where visible[record.id.recordName] == nil {
                note("    \(record.id.recordName) is forgotten; \(device.name) still knows it")
            }
        }
    }

    private func forgetDeletions(before cutoff: Int64, in place: Place) async throws {
        note("  deletions in \(place) are forgotten")
        try await CompactFeeds(world.cloud).forgetDeletions(
            before: cutoff, inZone: place.zone, of: people.users[place.owner], in: SimulatedCloud.container,
            .development)
        try await hearOnly()
    }

    /// Removes all quotas.
    func raiseQuota() async throws {
        if withoutRoom.isEmpty { return }
        note("  the quota is removed")
        _ = try await RunFaultOrder(world.cloud).run(.removeAllFaults, in: SimulatedCloud.container, .development)
        withoutRoom = []
    }

    func lacksCapacity(_ failure: RequestFailure, _ place: Place) -> Bool {
        failure.code == .quotaExceeded && withoutRoom.contains(place.owner)
    }

    /// Runs the daily work of the cloud.
    private func compact(before cutoff: Int64) async throws {
        for database in try await CompactFeeds(world.cloud).databases(after: nil, limit: 1_000) {
            _ = try await CompactFeeds(world.cloud).run(of: database, before: cutoff)
        }
        try await hearOnly()
    }

    func restart() async throws {
        note("  the cloud restarts")
        try await world.restart()
    }

    func jump() async throws {
        // Notifications that are not fetched within 30 days expire.
        try await listen()
        jump(pick([1_000, 60_000, 3_600_000, 86_400_000, 40 * 86_400_000, -60_000, -7_200_000]) ?? 0)
    }

    /// - Parameter milliseconds: The change of the clock, possibly negative.
    private func jump(_ milliseconds: Int64) {
        note("  the clock jumps by \(milliseconds / 1000) seconds")
        world.time.jump(milliseconds)
    }

    /// Stores the state of a device.
    func store(on index: Int) { disks[index] = devices[index] }

    /// Restarts a device's process with its stored state.
    func kill(on index: Int) {
        note("  \(devices[index].name) dies")
        keepMemory(of: index)
        devices[index] = disks[index]
        devices[index].keys.forgetMemory()
    }
}
