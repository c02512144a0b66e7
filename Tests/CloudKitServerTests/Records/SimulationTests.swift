import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import OrderedStore
import SeededChance
import Testing

/// Random batches against a cloud and against a simple model of it.
///
/// After every step the records agree; now and then every feed, replayed from any earlier token onto the state known
/// then, gives the current state; and the counters match.
@Suite(.timeLimit(.minutes(20))) struct SimulationTests {
    @Test(arguments: Engine.allCases, [UInt64(1), 2, 3, 4, 5, 6])
    func `B-CHG-05 the feed replayed from any token gives the records`(_ engine: Engine, seed: UInt64) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            var simulation = Simulation(test: test, chance: SplitMix64(seed: seed))
            for step in 0..<(engine == .memory ? 120 : 40) {
                try await simulation.step()
                if step % 10 == 9 { try await simulation.check() }
            }
        }
    }
}

private struct Simulation {
    let test: TestCloud
    var chance: SplitMix64
    var model: [String: [String: String]] = [:]
    /// The state that a device had when it got a token.
    var devices: [Device] = [Device()]

    struct Device {
        var token: String?
        var known: [String: [String: String]] = [:]
        var made = Int64.min
    }

    private let names = (0..<12).map { "R\($0)" }

    mutating func step() async throws {
        let chosen = Array(names.shuffled(using: &chance).prefix(Int.random(in: 1...5, using: &chance)))
        test.time.advance(1000)
        switch Int.random(in: 0..<20, using: &chance) {
        case 0: try await remakeZone()
        case 7: try await compact()
        case 1...6: try await delete(chosen)
        default: try await save(chosen)
        }
        let page = try await test.changes()
        if !page.moreComing { devices.append(Device(token: page.syncToken, known: model, made: test.time.now)) }
    }

    /// Only what happened before the cutoff may be missed by a token: devices from after it go on.
    private mutating func compact() async throws {
        let cutoff = test.time.now - Int64.random(in: 0..<20_000, using: &chance)
        try await test.compact(before: cutoff)
        var kept: [Device] = []
        for device in devices {
            do {
                if let token = device.token { _ = try await test.changes(since: token) }
                kept.append(device)
            } catch let failure as RequestFailure where failure.code == .changeTokenExpired {
                #expect(device.made < cutoff)
            }
        }
        devices = kept
    }

    private mutating func remakeZone() async throws {
        let zone = ZoneID(zoneName: "Z")
        _ = try await ModifyZones(test.cloud).run(
            [.delete(zone), .create(zone)], in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
        for device in devices {
            guard let token = device.token else { continue }
            await expect(.changeTokenExpired) { _ = try await test.changes(since: token) }
        }
        model = [:]
        devices = [Device()]
    }

    /// A deletion deletes the records that name a deleted one as their owner.
    private mutating func delete(_ chosen: [String]) async throws {
        try await test.modify(chosen.map { CloudKitServerTests.delete($0) })
        // Only what existed takes others along.
        let real = reachable(from: chosen.filter { model[$0] != nil })
        for name in real { model[name] = nil }
    }

    private func reachable(from start: [String]) -> Set<String> {
        var gone = Set(start)
        var grew = true
        while grew {
            let more = model.filter { gone.contains($0.value["owner"] ?? "") }.keys
            grew = !gone.isSuperset(of: more)
            gone.formUnion(more)
        }
        return gone
    }

    private mutating func save(_ chosen: [String]) async throws {
        let isAtomic = Bool.random(using: &chance)
        var operations: [RecordOperation] = []
        var wanted: [(name: String, after: [String: String]?)] = []
        for name in chosen {
            let (operation, after) = try await randomSave(name)
            operations.append(operation)
            wanted.append((name, after))
        }
        let outcomes = try await test.modify(operations, atomic: isAtomic)
        let fails = wanted.contains { $0.after == nil }
        for (outcome, wanted) in zip(outcomes, wanted) {
            if let after = wanted.after, !(isAtomic && fails) {
                #expect(outcome.record?.values == after)
                model[wanted.name] = after
            } else {
                #expect(outcome.failure != nil)
            }
        }
    }

    /// Returns an operation, and the record after it; nil if it must fail.
    private mutating func randomSave(_ name: String) async throws -> (RecordOperation, [String: String]?) {
        var fields: [String: String] = [:]
        for field in ["a", "b", "c"] where Bool.random(using: &chance) {
            fields[field] = "\"\(Int.random(in: 0..<1000, using: &chance))\""
        }
        if Int.random(in: 0..<4, using: &chance) == 0 { fields["owner"] = names.randomElement(using: &chance) }
        let changes = fields.map { name, value in
            name == "owner"
                ? reference(name, to: value, .deleteSelf)
                : .set(Field(name: name, type: .string, json: Array(value.utf8)))
        }
        let held = model[name]
        let kinds: [RecordOperation.Kind] = [.create, .update, .forceUpdate, .replace, .forceReplace]
        let kind = kinds.randomElement(using: &chance) ?? .create
        let isStale = Int.random(in: 0..<4, using: &chance) == 0
        let tag = isStale ? ChangeTag("stale") : try await test.record(name)?.changeTag ?? ChangeTag("gone")
        let operation = RecordOperation(
            kind,
            RecordChange(recordName: name, recordType: "Note", fields: changes, changeTag: kind.checksTag ? tag : nil))
        let merged = (held ?? [:]).merging(fields) { $1 }
        switch kind {
        case .create: return (operation, held == nil ? fields : nil)
        case .update: return (operation, held == nil || isStale ? nil : merged)
        case .replace: return (operation, held == nil || isStale ? nil : fields)
        case .forceReplace: return (operation, fields)
        default: return (operation, merged)
        }
    }

    mutating func check() async throws {
        let outcomes = try await test.lookup(names)
        for (name, outcome) in zip(names, outcomes) { #expect(outcome.record?.values == model[name], "\(name)") }
        for device in devices {
            let limit = Int.random(in: 1...7, using: &chance)
            let replayed = try await replay(device.token, device.known, limit: limit)
            #expect(replayed == model)
        }
        try await checkCounters()
    }

    private func replay(
        _ token: String?, _ known: [String: [String: String]], limit: Int
    ) async throws -> [String: [String: String]] {
        var known = known
        var token = token
        while true {
            let page = try await test.changes(since: token, limit: limit)
            for event in page.events {
                switch event {
                case .changed(let record): known[record.id.recordName] = record.values
                case .deleted(let tombstone): known[tombstone.recordName] = nil
                }
            }
            token = page.syncToken
            if !page.moreComing { return known }
        }
    }

    /// Counters are kept with every write; here they are counted (B-BKD-14).
    private func checkCounters() async throws {
        let partition = Partition.privateDatabase(TestCloud.container, .development, of: TestCloud.ada)
        let names = names
        try await test.store.read(partition) { view in
            let header = try await view.databaseHeader()
            let zone = try #require(try await view.zone(named: "Z"))
            let records = try await view.records(zone: zone.number, after: nil, limit: .max).filter { !$0.isTombstone }
            let bytes = records.reduce(0) { $0 + $1.storedBytes }
            #expect(Int(header.recordCount) == records.count)
            #expect(Int(zone.recordCount) == records.count)
            #expect(Int(header.recordBytes) == bytes)
            #expect(Int(zone.recordBytes) == bytes)
            let counts = try await view.ownerCounts(zone: zone.number, targets: names)
            for (name, count) in zip(names, counts) {
                let references = try await view.backReferences(zone: zone.number, target: name, limit: .max)
                #expect(references.count == count)
            }
        }
    }
}

extension Record {
    /// The fields as JSON; of a reference the name.
    fileprivate var values: [String: String] {
        Dictionary(
            uniqueKeysWithValues: fields.map { field in
                let references = (try? field.references()) ?? []
                return (field.name, references.first?.recordName ?? String(decoding: field.json, as: UTF8.self))
            })
    }
}
