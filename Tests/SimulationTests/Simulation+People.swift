import CloudKitEncryption
import CloudKitModel
import CloudKitServer

/// People who come, and people who lose their keys.
extension Simulation {
    /// Somebody opens an account, who may have been invited to their address before.
    func signUp() async throws {
        guard let person = try await people.signUp(in: world) else { return }
        note("  \(People.names[person]) signs up")
        addDevices(of: person)
        try await subscribe(person)
    }

    func addDevices(of person: Int) {
        for number in 1...People.devices[person] {
            let name = "\(People.names[person])-\(number)"
            let device = Device(
                name: name, person: person,
                caller: Caller(user: people.users[person], deviceID: name, surface: .native),
                keys: DeviceKeys(spy(person)))
            devices.append(device)
            disks.append(device)
        }
    }

    /// Somebody has lost all keys and begins with new ones. What they had sealed is gone for good, and with it their zones
    /// (B-ZN-12); in shares of others they wait until hosts hand them keys again.
    func resetKeychain(on index: Int) async throws {
        let person = devices[index].person
        // Of zones in which nothing can be sealed only shares have keys.
        if !hasSealed { return }
        let shared = People.zones.filter { place in model[place].trees.values.contains { $0.seats[person] != nil } }
        note(
            "  \(People.names[person]) begins anew with other keys"
                + (shared.isEmpty ? "" : " and takes part in \(shared)"))
        let former = try people.accounts[person].secret.identity().publicIdentity
        writers.addOperator(in: people.users[person])
        try await people.resetKeychain(of: person, in: world)
        if roll(2) == 0 { try await restart() }
        while try await RunOutbox(world.cloud).run() {}
        for place in People.zones where place.owner == person { try await observeReset(of: place) }
        beginAnew(person)
        try await lookAtSuspects(in: shared.filter { $0.owner != person })
        try believeNewKeys(of: person, insteadOf: former)
    }

    /// All devices of somebody whose keychain was reset have its new keys, and what they knew was sealed with others.
    private func beginAnew(_ person: Int) {
        let own = devices.indices.filter { devices[$0].person == person }
        for position in own { keepMemory(of: position) }
        spy(person).retire()
        spies.append(Spy(people.accounts[person].secret, person: person, user: people.users[person]))
        for position in own {
            devices[position].keys = DeviceKeys(spy(person), files: devices[position].keys.files)
            devices[position].zones = [:]
            devices[position].databaseTokens = [:]
            devices[position].stale = []
            disks[position] = devices[position]
        }
    }

    /// Hosts find that somebody has other keys than those they know, and hand nothing to them yet. What the owner's device does
    /// here it could not do later: what is signed with keys that nobody believes any more does not open.
    private func lookAtSuspects(in places: [Place]) async throws {
        try await withoutTrouble {
            for place in places {
                let host = device(of: place.owner)
                devices[host].suspect.insert(place)
                try await sync(on: host)
            }
        }
        for place in places {
            for position in devices.indices {
                devices[position].suspect.insert(place)
                disks[position].suspect.insert(place)
            }
        }
    }

    /// People compare fingerprints and believe each other.
    private func believeNewKeys(of person: Int, insteadOf former: PublicIdentity) throws {
        let user = people.users[person].recordName
        let identity = try people.accounts[person].secret.identity().publicIdentity
        for device in devices {
            device.keys.files.formerIdentities.insert(former.fingerprint)
            for place in People.zones {
                device.keys.files.pins.replace(with: identity, of: IdentityPins.name(of: user, in: zonePlace(place)))
            }
        }
    }

    private func observeReset(of place: Place) async throws {
        guard model[place].state == .live else { return }
        let outcome = try await cloud.lookupZones(
            [ZoneID(zoneName: place.zone)], in: world.address(.private), by: devices[device(of: place.owner)].caller)[0]
        let isEmpty = model[place].items.isEmpty && model[place].trees.isEmpty
        switch outcome {
        case .zone: try check(isEmpty, "\(place) was not reset with its owner's keys")
        case .failed(_, let failure):
            try check(failure.code == .zoneKeysReset && !isEmpty, "\(place) after a reset: \(failure.code)")
            model[place].end(.reset)
        case .deleted: throw Violation("a look-up was answered as a deletion")
        }
    }
}
