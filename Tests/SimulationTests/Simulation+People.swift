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
                keys: DeviceKeys(people.accounts[person].secret, user: people.users[person]))
            devices.append(device)
            disks.append(device)
        }
    }

    /// Somebody who takes part in no share of others has lost all keys and begins with new ones: what was sealed is gone for good, and
    /// with it the zones (B-ZN-12).
    func resetKeychain(on index: Int) async throws {
        let person = devices[index].person
        let takesPart = People.zones.contains { place in
            model[place].trees.values.contains { $0.seats[person] != nil }
        }
        // Of zones in which nothing can be sealed only shares have keys.
        if takesPart || !hasSealed { return }
        note("  \(People.names[person]) begins anew with other keys")
        writers.addOperator(in: people.users[person])
        try await people.resetKeychain(of: person, in: world)
        if roll(2) == 0 { try await restart() }
        while try await world.cloud.runOutbox() {}
        for position in devices.indices where devices[position].person == person {
            let keys = DeviceKeys(
                people.accounts[person].secret, user: people.users[person], files: devices[position].keys.files)
            // What was known was sealed with keys that nobody has any more.
            devices[position].keys = keys
            devices[position].zones = [:]
            devices[position].databaseTokens = [:]
            devices[position].stale = []
            disks[position] = devices[position]
        }
        try believeNewKeys(of: person)
        for place in People.zones where place.owner == person { try await observeReset(of: place) }
    }

    /// People compare fingerprints and believe each other.
    private func believeNewKeys(of person: Int) throws {
        let user = people.users[person].recordName
        let identity = try people.accounts[person].secret.identity().publicIdentity
        for device in devices {
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
