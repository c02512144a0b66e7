import CloudKitModel
import CloudKitServer

/// The invariants that hold when no request is in flight.
extension Simulation {
    /// Syncs every device without faults, then compares all states.
    func settle() async throws {
        let before = trouble
        try await raiseQuota()
        trouble = 0
        note("all come to rest")
        // A waiting participant gets a key from a device that syncs, and has to sync afterwards.
        for _ in 0..<Self.roundsMax {
            for index in devices.indices { try await sync(on: index) }
        }
        for index in devices.indices {
            try checkKnowledge(of: devices[index])
            try checkOpening(on: index)
        }
        try await probe()
        for person in people.users.indices { try await checkAccess(of: person) }
        try await listen()
        trouble = before
    }

    private static let roundsMax = 3

    /// Checks that participants can decrypt new values.
    private func probe() async throws {
        var fresh: [Place: Set<String>] = [:]
        for place in SimulatedUsers.zones where model[place].state == .live {
            let index = device(of: place.owner)
            guard let name = pick(devices[index].records(in: place))?.id.recordName else { continue }
            if try await write(name, in: place, on: index) { fresh[place, default: []].insert(name) }
            for tree in model[place].trees.keys.sorted() {
                guard let (name, index) = someWriting(in: tree, of: place) else { continue }
                if try await write(name, in: place, on: index) { fresh[place, default: []].insert(name) }
            }
        }
        for index in devices.indices { try await sync(on: index) }
        for index in devices.indices { try checkOpening(on: index) }
        try checkSecrecy(fresh)
    }

    /// Returns a record in a tree and a device of a participant who may change it.
    private func someWriting(in tree: String, of place: Place) -> (String, Int)? {
        let zone = model[place]
        let writers = devices.indices.filter { index in
            let role = zone.trees[tree]?.role(of: devices[index].person) ?? .stranger
            return model.word(for: "change", object: "in tree", role: role) == "yes"
        }
        let names = zone.items.keys.filter { zone.tree(of: $0) == tree && !zone.isRoot($0) }.sorted()
        guard let index = pick(writers), let name = pick(names) else { return nil }
        return (name, index)
    }

    /// - Returns: Whether it was encrypted and saved.
    private func write(_ name: String, in place: Place, on index: Int) async throws -> Bool {
        let before = model[place].items[name]?.fields["secret"]
        var edit = edit(name, .update, in: place, on: index)
        guard try await sealForMove(&edit, on: index) else { return false }
        try await save(edit, on: index, "writes, when all are in sync,")
        return model[place].items[name]?.fields["secret"] != before
    }

    /// Checks a synced device against the model, field by field.
    private func checkKnowledge(of device: Device) throws {
        for place in SimulatedUsers.zones {
            let expected = model[place].state == .live ? model.visible(to: device.person, in: place) : [:]
            let known = (device.zones[place]?.records ?? [:]).mapValues { $0.sharing == nil ? plain($0) : Content() }
            try compare(known, with: expected, "\(device.name) knows of \(place)")
            for record in device.shares(in: place) { try checkShare(record, in: place, for: device.person) }
        }
    }

    private func compare(_ found: [String: Content], with expected: [String: Content], _ what: String) throws {
        for name in Set(found.keys).union(expected.keys).sorted() {
            var expected = expected[name]
            expected?.fields["secret"] = nil
            try check(
                found[name] == expected,
                "\(what) \(name): \(found[name].map(\.description) ?? "nothing"), the model: "
                    + "\(expected.map(\.description) ?? "nothing")")
        }
    }

    /// Checks the visible content of a share against the model.
    func checkShare(_ record: Record, in place: Place, for person: Int) throws {
        guard let sharing = record.sharing, let tree = model[place].trees[record.id.recordName] else { return }
        let name = "\(record.id.recordName) in \(place), as \(SimulatedUsers.names[person]) knows it"
        try check(sharing.root == tree.root, "the root of \(name) is \(sharing.root ?? "none")")
        try check(sharing.publicPermission == tree.openTo, "\(name) is open to \(sharing.publicPermission)")
        let isManager = person == place.owner || tree.role(of: person) == .administrator
        if isManager {
            try checkGuests(sharing, of: tree, name)
        } else {
            try checkDiscretion(sharing, of: tree, name: name, person: person)
        }
        for other in SimulatedUsers.names.indices where other != place.owner && (isManager || other == person) {
            let found = sharing.participants.first { people.person($0.identity) == other }
            let slot = tree.slots[other]
            try check(
                (found == nil) == (slot == nil),
                "\(SimulatedUsers.names[other]) in \(name): \(found == nil ? "missing" : "present")")
            guard let found, let slot else { continue }
            try check(found.acceptance == (slot.hasAccepted ? .accepted : .pending), "\(name): \(found.acceptance)")
            try check(
                found.permission == (slot.isPublic ? tree.openTo : slot.permission), "\(name): \(found.permission)")
            try check((found.role == .administrator) == slot.isAdministrator, "\(name): \(found.role)")
        }
    }

    /// Checks that members do not see addresses, links, pending invitations, requesters and blocked users, and only the owner of a
    /// public share.
    private func checkDiscretion(_ sharing: Share, of tree: Model.Tree, name: String, person: Int) throws {
        try check(sharing.requesters.isEmpty && sharing.blocked.isEmpty, "\(name) shows requesters or blocked users")
        let others = sharing.participants.filter { $0.role != .owner && $0.id != sharing.currentParticipantID }
        let shown = tree.slots.filter { tree.openTo == .none && $0.key != person && $0.value.hasAccepted }
        let found = others.map { people.person($0.identity) ?? -1 }.sorted()
        try check(found == shown.keys.sorted(), "\(name) shows \(found), not \(shown.keys.sorted())")
        try check(
            others.allSatisfy { $0.identity.lookup == nil && $0.oneTimeGUID == nil },
            "\(name) shows addresses or links of others")
    }

    /// Checks the content that only owners and administrators see.
    private func checkGuests(_ sharing: Share, of tree: Model.Tree, _ name: String) throws {
        let requesters = Set(sharing.requesters.compactMap(people.person))
        try check(requesters == tree.requesters, "\(name): \(requesters) ask for access, not \(tree.requesters)")
        let blocked = Set(sharing.blocked.compactMap(people.person))
        try check(blocked == tree.blocked, "\(name): \(blocked) are blocked, not \(tree.blocked)")
        try check(sharing.allowsAccessRequests == tree.allowsRequests, "\(name): \(sharing.allowsAccessRequests)")
        let slots = sharing.participants.filter { $0.oneTimeGUID != nil }
        let open = Dictionary(slots.map { ($0.id, $0.permission) }, uniquingKeysWith: { first, _ in first })
        try check(open == tree.openSlots, "\(name): \(open.sorted { $0.key < $1.key }) are free")
    }

    /// Checks that a new device sees the model's state, and nothing else.
    private func checkAccess(of person: Int) async throws {
        let device = devices[device(of: person)]
        for place in SimulatedUsers.zones {
            let refusal = zoneRefusal(place, by: person)
            var cache = ZoneCache()
            var hasMore = true
            while hasMore {
                switch try await page(of: place, since: cache.token, limit: 3, for: device) {
                case .done(let page):
                    try check(refusal == nil, "\(device.name) reads \(place), the model says \(text(refusal))")
                    cache.take(page)
                    hasMore = page.moreComing
                case .refused(let failure):
                    try check(failure.code == refusal, "\(device.name) reads \(place): \(failure.code)")
                    hasMore = false
                }
            }
            let expected = refusal == nil ? model.visible(to: person, in: place) : [:]
            let found = cache.records.mapValues { $0.sharing == nil ? plain($0) : Content() }
            try compare(found, with: expected, "\(device.name), asking again, finds in \(place)")
            guard refusal == nil else { continue }
            try await checkLookups(place, expected, for: device)
            try await checkQueries(of: place, for: device)
            let records = cache.records.values.sorted { $0.id.recordName < $1.id.recordName }
            try await checkFiles(of: place, among: records, for: device)
        }
        try await checkQueriesOfAllZones(for: device)
        try await checkSharedZones(for: device)
    }

    /// Checks that lookups by name return visible records and do not reveal whether others exist.
    private func checkLookups(_ place: Place, _ expected: [String: Content], for device: Device) async throws {
        let names = Self.recordNames + model[place].trees.keys.sorted()
        let outcomes = try await cloud.lookupRecords(
            LookupRecordsRequest(
                records: names.map { LookupRecordsRequest.Item(recordName: $0) }, zoneID: zoneID(place, for: device)),
            in: address(place, for: device), by: device.caller)
        for (name, outcome) in zip(names, outcomes) {
            switch outcome {
            case .record(let record):
                try check(expected[name] != nil, "\(device.name) finds \(name) in \(place), which they may not see")
                if record.sharing == nil {
                    try compare(
                        [name: plain(record)], with: [name: expected[name] ?? Content()], "\(device.name) looks up")
                }
            case .failed(_, let failure):
                try check(
                    expected[name] == nil && failure.code == .itemNotFound,
                    "\(device.name) does not find \(name) in \(place): \(failure.code)")
            case .deleted: throw Violation("a look-up was answered as a deletion")
            }
        }
    }

    private func checkSharedZones(for device: Device) async throws {
        let zones = try await cloud.listZones(in: world.address(.shared), by: device.caller)
        let found = zones.compactMap { zone in
            people.person(zone.id.owner).map { Place(owner: $0, zone: zone.id.zoneName) }
        }
        let expected = SimulatedUsers.zones.filter { model[$0].state == .live && model.isMember(device.person, of: $0) }
        try check(found.sorted() == expected.sorted(), "\(device.name) lists \(found), the model says \(expected)")
    }
}
