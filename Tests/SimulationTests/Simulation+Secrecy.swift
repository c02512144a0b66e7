import CloudKitEncryption
import CloudKitModel

@testable import CloudKit

/// What nobody reads, with whatever keys they keep.
extension Simulation {
    /// The one that goes on with somebody's present keys.
    func spy(_ person: Int) -> Spy {
        if let spy = spies.last(where: { $0.person == person }) { return spy }
        let spy = Spy(people.accounts[person].secret, person: person, user: people.users[person])
        spies.append(spy)
        return spy
    }

    /// Keeps what a device has in memory, for whoever means to go on reading.
    func keepMemory(of index: Int) {
        let keys = devices[index].keys
        for place in People.zones {
            guard let shared = keys.memory(of: zonePlace(place)) else { continue }
            keys.spy.keep(shared, epochs: model[place].keyEpoch, heldKeys)
        }
        for (share, link) in keys.files.links { keys.spy.keep(link, of: share) }
    }

    /// Nobody opens what was written after they lost it, whatever the cloud shows them, and neither does who has keys that
    /// somebody replaced; and who never had a part in a zone opens nothing of it.
    ///
    /// - Parameter fresh: What was sealed when all epochs that were due had begun.
    func checkSecrecy(_ fresh: [Place: Set<String>]) throws {
        for index in devices.indices { keepMemory(of: index) }
        for spy in spies {
            spy.open(heldKeys)
            for place in People.zones where model[place].state == .live {
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
        var keys = spy.keys(of: zonePlace(place), for: records)
        for record in hidden {
            let name = record.id.recordName
            let found = spy.opened(record, in: zonePlace(place)) ?? opened(record, in: place, with: &keys, cache)
            let who = People.names[spy.person] + (spy.isFormer ? ", with keys of before," : "")
            try check(
                found == nil || found != zone.items[name]?.fields["secret"],
                "\(who) opens \(name) in \(place), which is not for them")
        }
    }

    /// Whether somebody must not open a record.
    private func isHidden(_ name: String, in place: Place, from spy: Spy, _ fresh: Set<String>) -> Bool {
        let zone = model[place]
        if zone.items[name]?.fields["secret"] == nil { return false }
        if let last = zone.deletions[name], let held = zone.protections[name], held.epoch <= last { return false }
        // Their zones ended with their keys: everything in them was sealed with others since.
        if place.owner == spy.person { return true }
        if let share = zone.tree(of: name), let tree = zone.trees[share] {
            if tree.openTo != .none { return false }
            if tree.seats[spy.person] != nil {
                // Who came by a link has its secret, too, which is not replaced with an account's keys.
                let hasLink = spy.hasLink(of: RecordPlace(zone: zonePlace(place), name: share))
                if !spy.isFormer || hasLink { return false }
            }
        }
        return fresh.contains(name) || !known.contains(Acquaintance(person: spy.person, place: place))
    }
}
