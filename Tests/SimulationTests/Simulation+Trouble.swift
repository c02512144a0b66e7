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
            model[place].incarnation += 1
        }
    }

    func deleteZone(_ place: Place, on index: Int) async throws {
        let device = devices[index]
        _ = try await deliver("\(device.name) deletes \(place)") {
            let outcome = try await cloud.modifyZones(
                [.delete(zoneID(place, for: device))], in: world.address(.private), by: device.caller)[0]
            switch (outcome, model[place].state) {
            case (.failed(_, let failure), .absent) where failure.code == .zoneNotFound: break
            case (.deleted, .live), (.deleted, .purged), (.deleted, .reset): model[place].end(.absent)
            default: throw Violation("deleting \(place), which is \(model[place].state): \(outcome)")
            }
        }
    }

    /// A zone's whole life: it goes, it comes, its owner cleans up behind the operator.
    func tendZones(on index: Int) async throws {
        guard let place = pick(People.zones.filter { $0.owner == devices[index].person }) else { return }
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
        guard let place = pick(People.zones) else { return }
        let user = people.users[place.owner]
        let (container, now) = (SimulatedCloud.container, world.time.now)
        let isLive = model[place].state == .live
        switch roll(14) {
        case 0 where isLive:
            note("  the operator purges \(place)")
            writers.addOperator(in: user)
            try await world.cloud.purgeZone(place.zone, of: user, in: container, .development)
            model[place].end(.purged)
        case 1 where isLive:
            note("  the keys of \(place) are lost")
            writers.addOperator(in: user)
            try await world.cloud.resetKeys(ofZone: place.zone, of: user, in: container, .development)
            model[place].end(.reset)
        case 2 where isLive:
            note("  tokens of \(place) expire")
            try await listen()
            try await world.cloud.expireTokens(ofZone: place.zone, of: user, in: container, .development)
            // Feeds say again what they said; that is nothing new.
            try await forgetNews()
        case 3:
            note("  tokens of \(People.names[place.owner])'s database expire")
            try await world.cloud.expireDatabaseTokens(of: user, in: container, .development)
        case 4, 5:
            note("  deleted zones of \(People.names[place.owner]) are forgotten")
            try await world.cloud.forgetDeletedZones(before: now, of: user, in: container, .development)
        case 6:
            note("  old deletions are forgotten everywhere")
            try await compact(before: now - Int64(roll(2)) * 3_600_000)
        case 7, 8: try await sweep()
        case 9: try await takeRoom(of: place.owner)
        case 10... where isLive:
            note("  deletions in \(place) are forgotten")
            try await world.cloud.forgetDeletions(
                before: now - Int64(roll(2)) * 3_600_000, inZone: place.zone, of: user, in: container, .development)
        default: break
        }
    }

    /// Somebody's database may not grow any more.
    private func takeRoom(of person: Int) async throws {
        note("  there is no room for \(People.names[person])")
        _ = try await world.cloud.carryOut(
            .fault(.quota, for: .user(people.users[person]), seconds: nil, bytes: 1, tellsWait: false),
            in: SimulatedCloud.container, .development)
        withoutRoom.insert(person)
    }

    /// There is room for all again.
    func giveRoom() async throws {
        if withoutRoom.isEmpty { return }
        note("  there is room again")
        _ = try await world.cloud.carryOut(.removeAllFaults, in: SimulatedCloud.container, .development)
        withoutRoom = []
    }

    func lacksRoom(_ failure: RequestFailure, _ place: Place) -> Bool {
        failure.code == .quotaExceeded && withoutRoom.contains(place.owner)
    }

    /// What the cloud does once a day.
    private func compact(before cutoff: Int64) async throws {
        for database in try await world.cloud.databasesToCompact(after: nil, limit: 1_000) {
            _ = try await world.cloud.compactFeeds(of: database, before: cutoff)
        }
    }

    func restart() async throws {
        note("  the cloud restarts")
        try await world.restart()
    }

    func jump() async throws {
        // What nobody asks for within 30 days is told no more.
        try await listen()
        let jump = pick([1_000, 60_000, 3_600_000, 86_400_000, 40 * 86_400_000, -60_000, -7_200_000]) ?? 0
        note("  the clock jumps by \(jump / 1000) seconds")
        world.time.jump(Int64(jump))
    }

    /// A device writes down what it knows.
    func store(on index: Int) { disks[index] = devices[index] }

    /// A device's process ends; the next one begins with what was written down.
    func kill(on index: Int) {
        note("  \(devices[index].name) dies")
        keepMemory(of: index)
        devices[index] = disks[index]
        devices[index].keys.forgetMemory()
    }
}
