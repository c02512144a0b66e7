import CloudKitEncryption
import CloudKitModel

@testable import CloudKit

/// The checks that users cannot read data without permission, with any keys that they kept.
extension Simulation {
    /// Returns the spy with a user's present keys.
    func spy(_ person: Int) -> Spy {
        if let spy = spies.last(where: { $0.person == person }) { return spy }
        let spy = Spy(people.accounts[person].secret, person: person, user: people.users[person])
        spies.append(spy)
        return spy
    }

    /// Keeps a device's keys for the spy.
    func keepMemory(of index: Int) {
        let keys = devices[index].keys
        for place in SimulatedUsers.zones {
            guard let shared = keys.memory(of: zoneAddress(place)) else { continue }
            keys.spy.keep(shared, epochs: model[place].keyEpoch, heldKeys)
        }
        for (share, link) in keys.files.links { keys.spy.keep(link, of: share) }
    }

    /// Checks that users cannot decrypt data written after they lost access, even with all data of the cloud, that replaced keys do
    /// not decrypt new data, and that users who never participated in a zone cannot decrypt any of it.
    ///
    /// - Parameter fresh: The records encrypted after all due epochs had begun.
    func checkSecrecy(_ fresh: [Place: Set<String>]) throws {
        for index in devices.indices { keepMemory(of: index) }
        for spy in spies {
            spy.open(heldKeys)
            for place in SimulatedUsers.zones where model[place].state == .live {
                try checkSecrecy(of: place, from: spy, fresh[place] ?? [])
            }
        }
    }

    private func checkSecrecy(of place: Place, from spy: Spy, _ fresh: Set<String>) throws {
        if place.owner == spy.person && !spy.isFormer { return }
        let zone = model[place]
        let records = devices[device(of: place.owner)].records(in: place)
        let hidden = records.filter { isHidden($0.id.recordName, in: place, from: spy, fresh) }
        if hidden.isEmpty { return }
        let cache = ZoneCache(
            records: Dictionary(records.map { ($0.id.recordName, $0) }, uniquingKeysWith: { first, _ in first }))
        var keys = spy.keys(of: zoneAddress(place), for: records)
        for record in hidden {
            let name = record.id.recordName
            let found =
                try spy.opened(record, in: zoneAddress(place))
                ?? opened(record, in: place, with: &keys, cache, isSpy: true)
            let who = SimulatedUsers.names[spy.person] + (spy.isFormer ? ", with keys of before," : "")
            try check(
                found == nil || found != zone.items[name]?.fields["secret"],
                "\(who) opens \(name) in \(place), which is not for them")
        }
    }

    /// Returns whether a user must not be able to decrypt a record.
    private func isHidden(_ name: String, in place: Place, from spy: Spy, _ fresh: Set<String>) -> Bool {
        let zone = model[place]
        if zone.items[name]?.fields["secret"] == nil { return false }
        if let last = zone.deletions[name], let held = zone.protections[name], held.epoch <= last { return false }
        // Their zones were reset with their keys; all data was encrypted with new keys since.
        if place.owner == spy.person { return true }
        if let share = zone.tree(of: name), let tree = zone.trees[share] {
            if tree.openTo != .none { return false }
            if tree.slots[spy.person] != nil {
                // Users of a link also have its secret, which is not replaced with an account's keys.
                let hasLink = spy.hasLink(of: RecordAddress(zone: zoneAddress(place), name: share))
                if !spy.isFormer || hasLink { return false }
            }
        }
        return fresh.contains(name) || !known.contains(KnownZone(person: spy.person, place: place))
    }
}
