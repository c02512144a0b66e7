import CloudKitEncryption
import CloudKitModel
import CloudKitServer

/// Steps of users who join, and of users who lose their keys.
extension Simulation {
    /// Creates an account for a user, who may already have invitations to their address.
    func signUp() async throws {
        guard let person = try await people.signUp(in: world) else { return }
        note("  \(SimulatedUsers.names[person]) signs up")
        addDevices(of: person)
        try await subscribe(person)
    }

    func addDevices(of person: Int) {
        for number in 1...SimulatedUsers.devices[person] {
            let name = "\(SimulatedUsers.names[person])-\(number)"
            let device = Device(
                name: name, person: person,
                caller: Caller(user: people.users[person], deviceID: name, surface: .native),
                keys: DeviceKeys(spy(person)))
            devices.append(device)
            disks.append(device)
        }
    }

    /// Resets the keys of a user. Their encrypted data and zones are permanently lost (B-ZN-12); in shares of others they wait
    /// until an owner or administrator sends them keys again.
    func resetKeychain(on index: Int) async throws {
        let person = devices[index].person
        // In zones without encryption only shares have keys.
        if !hasSealed { return }
        let shared = SimulatedUsers.zones.filter { place in
            model[place].trees.values.contains { $0.slots[person] != nil }
        }
        note(
            "  \(SimulatedUsers.names[person]) begins again with other keys"
                + (shared.isEmpty ? "" : " and takes part in \(shared)"))
        let former = try people.accounts[person].secret.identity().publicIdentity
        writers.addOperator(in: people.users[person])
        try await people.resetKeychain(of: person, in: world)
        if roll(2) == 0 { try await restart() }
        while try await RunOutbox(world.cloud).run() {}
        for place in SimulatedUsers.zones where place.owner == person { try await observeReset(of: place) }
        beginAgain(person)
        try await lookAtSuspects(in: shared.filter { $0.owner != person })
        try believeNewKeys(of: person, insteadOf: former)
    }

    /// Gives all devices of a user the keys of a reset keychain, and clears the values encrypted with the old ones.
    private func beginAgain(_ person: Int) {
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

    /// Owners and administrators detect that a user's keys were replaced, and send them no keys yet. The owner's device does this now,
    /// because data signed with replaced keys cannot be verified later.
    private func lookAtSuspects(in places: [Place]) async throws {
        try await withoutFaults {
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

    /// Users compare fingerprints and trust each other's new keys.
    private func believeNewKeys(of person: Int, insteadOf former: PublicIdentity) throws {
        let user = people.users[person].recordName
        let identity = try people.accounts[person].secret.identity().publicIdentity
        for device in devices {
            device.keys.files.formerIdentities.insert(former.fingerprint)
            for place in SimulatedUsers.zones {
                device.keys.files.pins.replace(with: identity, of: IdentityPins.name(of: user, in: zoneAddress(place)))
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
