import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import SeededChance
import Synchronization
import Testing

/// Random shares, moves, removals, compaction and writes by owner and participants, against a simple model.
///
/// After every few steps each participant sees exactly the records of the model, and each participant's feed, followed
/// from any earlier token onto the state known then, gives the visible records.
@Suite(.timeLimit(.minutes(20))) struct ShareSimulationTests {
    @Test(arguments: Engine.allCases, [UInt64(1), 2, 3, 4, 5, 6, 7, 8])
    func `B-SHF-06, B-SHR-05, B-PRT-12 participants see exactly the shared records, and their feeds miss nothing`(
        _ engine: Engine, seed: UInt64
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            var simulation = ShareSimulation(test: test, chance: SplitMix64(seed: seed))
            for step in 0..<(engine == .memory ? 200 : 50) {
                try await simulation.step()
                if step % 5 == 4 { try await simulation.check() }
            }
            let problems = try await storeProblems(test)
            #expect(problems.isEmpty, "\(problems)")
        }
    }

    /// Returns the problems that a check of the store finds, which must know of nothing but what writes leave.
    private func storeProblems(_ test: TestCloud) async throws -> [String] {
        let problems = Mutex<[String]>([])
        let users = [TestCloud.ada, TestCloud.bob, TestCloud.cyd]
        let databases = users.map { StoragePartition.privateDatabase(TestCloud.container, .development, of: $0) }
        let own = [StoragePartition.registry, .shareDirectory, .schema(TestCloud.container, .development)]
        let summary = try await CheckStore(test.cloud) { finding in
            problems.withLock { $0.append("\(finding.place): \(finding.problem)") }
        }.run(partitions: (databases + own).map(\.name))
        #expect(summary.rows > 20)
        return problems.withLock { $0 }
    }
}

private struct ShareSimulation {
    struct Item {
        var parent: String?
        var value: Int
    }

    struct Tree {
        var root: String
        var guid: String?
        var members: [UserID: ParticipantPermission] = [:]
    }

    /// The state that a participant's device had when it got a token.
    struct Device {
        var token: String?
        var known: [String: Int]
    }

    let test: TestCloud
    var chance: SplitMix64
    var items: [String: Item] = [:]
    var trees: [String: Tree] = [:]
    var devices: [UserID: [Device]] = [:]
    var counter = 0

    private let names = (0..<14).map { "R\($0)" }
    private let users = [TestCloud.bob, TestCloud.cyd]

    // MARK: The model

    private func tree(of name: String) -> String? {
        var current: String? = name
        while let step = current {
            if let tree = trees.first(where: { $0.value.root == step }) { return tree.key }
            current = items[step]?.parent
        }
        return nil
    }

    private func children(of name: String) -> [String] { items.filter { $0.value.parent == name }.map(\.key) }

    private func subtree(of name: String) -> [String] { [name] + children(of: name).flatMap(subtree) }

    private func isRoot(_ name: String) -> Bool { trees.values.contains { $0.root == name } }

    private func permission(of user: UserID, on name: String) -> ParticipantPermission? {
        tree(of: name).flatMap { trees[$0]?.members[user] }
    }

    private func visible(to user: UserID) -> [String: Int] {
        var visible: [String: Int] = [:]
        for (name, item) in items where permission(of: user, on: name) != nil { visible[name] = item.value }
        for (name, tree) in trees where tree.members[user] != nil { visible[name] = -1 }
        return visible
    }

    // MARK: Steps

    mutating func step() async throws {
        test.time.advance(1000)
        switch Int.random(in: 0..<21, using: &chance) {
        case 0...4: try await ownerSaves()
        case 5...7: try await ownerMoves()
        case 8: try await ownerDeletes()
        case 9...10: try await ownerShares()
        case 11: try await ownerEnds()
        case 12...13: try await memberComes()
        case 14: try await memberGoes()
        case 15...16: try await memberSaves()
        case 17: try await memberMoves()
        case 18: try await memberDeletes()
        case 19: try await compact()
        default: try await rememberDevices()
        }
    }

    /// Devices whose tokens expire start from the beginning; all others continue.
    private mutating func compact() async throws {
        try await test.compact(before: test.time.now - Int64.random(in: 0..<60_000, using: &chance))
    }

    private mutating func pick() -> String { names.randomElement(using: &chance) ?? "R0" }
    private mutating func user() -> UserID { users.randomElement(using: &chance) ?? TestCloud.bob }

    private mutating func value() -> FieldChange {
        counter += 1
        return number("n", counter)
    }

    private mutating func ownerSaves() async throws {
        let name = pick()
        let parent = items.keys.sorted().randomElement(using: &chance)
        let field = value()
        if items[name] == nil {
            let change = parent.map { ParentChange.set(recordName: $0) } ?? .keep
            #expect(try await test.modify([create(name, "Note", field, parent: change)])[0].record != nil)
            items[name] = Item(parent: parent, value: counter)
        } else {
            #expect(try await test.modify([save(.forceUpdate, name, "Note", field)])[0].record != nil)
            items[name]?.value = counter
        }
    }

    private mutating func ownerMoves() async throws {
        guard let (name, parent) = move() else { return }
        let target = parent.flatMap(tree)
        let overlaps = target != nil && subtree(of: name).contains(where: isRoot)
        let field = value()
        let change = parent.map { ParentChange.set(recordName: $0) } ?? .remove
        let outcome = try await test.modify([save(.forceUpdate, name, "Note", field, parent: change)])[0]
        if overlaps {
            #expect(outcome.code == .alreadyShared)
        } else {
            #expect(outcome.record != nil)
            items[name] = Item(parent: parent, value: counter)
        }
    }

    /// A record and where it might go: nowhere within itself.
    private mutating func move() -> (String, String?)? {
        guard let name = items.keys.sorted().randomElement(using: &chance) else { return nil }
        let below = Set(subtree(of: name))
        if Int.random(in: 0..<4, using: &chance) == 0 { return (name, nil) }
        let parent = items.keys.filter { !below.contains($0) }.sorted().randomElement(using: &chance)
        return parent.map { (name, $0) }
    }

    private mutating func ownerDeletes() async throws {
        guard let name = items.keys.sorted().randomElement(using: &chance) else { return }
        let outcome = try await test.modify([delete(name)])[0]
        if children(of: name).isEmpty {
            #expect(outcome.isDeleted)
            trees = trees.filter { $0.value.root != name }
            items[name] = nil
        } else {
            #expect(outcome.code == .referenceViolation)
        }
    }

    private mutating func ownerShares() async throws {
        guard let root = items.keys.sorted().randomElement(using: &chance) else { return }
        counter += 1
        let name = "S\(counter)"
        let isFree = tree(of: root) == nil && !subtree(of: root).contains(where: isRoot)
        let share = createShare(
            name,
            ShareChange(
                root: .init(recordName: root),
                participants: [invite(TestCloud.bob, .readWrite), invite(TestCloud.cyd, .readOnly)]))
        let outcome = try await test.modify([share])[0]
        if isFree {
            #expect(outcome.record != nil)
            trees[name] = Tree(root: root, guid: outcome.record?.shortGUID)
        } else {
            #expect(outcome.code == .alreadyShared)
        }
    }

    private mutating func ownerEnds() async throws {
        guard let name = trees.keys.sorted().randomElement(using: &chance) else { return }
        #expect(try await test.modify([delete(name)])[0].isDeleted)
        trees[name] = nil
    }

    private mutating func memberComes() async throws {
        guard let name = trees.keys.sorted().randomElement(using: &chance), let tree = trees[name] else { return }
        let user = user()
        let outcome = try await test.accept(tree.guid, by: user)
        guard let permission = outcome.invitation?.permission else {
            // Left or removed earlier: invited again.
            try await test.changeShare(
                name, ShareChange(participants: users.map { invite($0, $0 == TestCloud.bob ? .readWrite : .readOnly) }))
            return
        }
        trees[name]?.members[user] = permission
    }

    private mutating func memberGoes() async throws {
        let user = user()
        guard let name = trees.filter({ $0.value.members[user] != nil }).keys.sorted().randomElement(using: &chance)
        else { return }
        if Bool.random(using: &chance) {
            #expect(try await test.modify([delete(name)], of: TestCloud.ada, by: user)[0].isDeleted)
        } else {
            let others = (trees[name]?.members ?? [:]).filter { $0.key != user }
            try await test.changeShare(name, ShareChange(participants: others.map { invite($0.key, $0.value) }))
        }
        trees[name]?.members[user] = nil
    }

    // MARK: Members' writes

    private func isMember(_ user: UserID) -> Bool { trees.values.contains { $0.members[user] != nil } }

    private mutating func memberSaves() async throws {
        let user = user()
        let name = pick()
        guard isMember(user) else { return }
        let field = value()
        if items[name] != nil {
            let outcome = try await test.modify(
                [save(.forceUpdate, name, "Note", field)], of: TestCloud.ada, by: user)[0]
            if permission(of: user, on: name) == .readWrite {
                #expect(outcome.record != nil)
                items[name]?.value = counter
            } else {
                #expect(outcome.code == .accessDenied)
                #expect(outcome.failure?.serverRecord == nil)
            }
            return
        }
        let parent = pick()
        let outcome = try await test.modify(
            [create(name, "Note", field, parent: .set(recordName: parent))], of: TestCloud.ada, by: user)[0]
        if items[parent] != nil, permission(of: user, on: parent) == .readWrite {
            #expect(outcome.record != nil)
            items[name] = Item(parent: parent, value: counter)
        } else {
            #expect(outcome.code == .accessDenied)
        }
    }

    private mutating func memberMoves() async throws {
        let user = user()
        guard isMember(user), let (name, parent) = move() else { return }
        let field = value()
        let change = parent.map { ParentChange.set(recordName: $0) } ?? .remove
        let outcome = try await test.modify(
            [save(.forceUpdate, name, "Note", field, parent: change)], of: TestCloud.ada, by: user)[0]
        let stays = parent != nil && parent.flatMap(tree) == tree(of: name)
        let isSame = parent == items[name]?.parent
        if permission(of: user, on: name) == .readWrite, isRoot(name) ? isSame : stays {
            #expect(outcome.record != nil, "\(name) to \(parent ?? "-")")
            items[name] = Item(parent: parent, value: counter)
        } else {
            #expect(outcome.code == .accessDenied)
        }
    }

    private mutating func memberDeletes() async throws {
        let user = user()
        guard isMember(user), let name = items.keys.sorted().randomElement(using: &chance) else { return }
        let outcome = try await test.modify([delete(name)], of: TestCloud.ada, by: user)[0]
        switch permission(of: user, on: name) {
        case nil: #expect(outcome.isDeleted)
        case _? where isRoot(name):
            #expect(outcome.isDeleted)
            if let tree = tree(of: name) { trees[tree]?.members[user] = nil }
        case .readWrite?:
            if children(of: name).isEmpty {
                #expect(outcome.isDeleted)
                items[name] = nil
            } else {
                #expect(outcome.code == .referenceViolation)
            }
        default: #expect(outcome.code == .accessDenied)
        }
    }

    // MARK: Checks

    private mutating func rememberDevices() async throws {
        for user in users where isMember(user) {
            let (token, known) = try await follow(Device(token: nil, known: [:]), user)
            devices[user, default: []].append(Device(token: token, known: known))
        }
    }

    mutating func check() async throws {
        for user in users {
            let expected = visible(to: user)
            if isMember(user) {
                let asked = names + trees.keys.sorted()
                for (name, outcome) in zip(asked, try await test.sharedLookup(asked, by: user)) {
                    #expect((outcome.record != nil) == (expected[name] != nil), "\(name) for \(user)")
                }
            } else {
                await expect(.zoneNotFound) { _ = try await test.sharedLookup(names, by: user) }
            }
            for (index, device) in (devices[user] ?? []).enumerated() {
                let (token, known) = try await follow(device, user)
                #expect(known == expected, "device \(index) of \(user)")
                if Bool.random(using: &chance) { devices[user]?[index] = Device(token: token, known: known) }
            }
            let fresh = try await follow(Device(token: nil, known: [:]), user)
            #expect(fresh.1 == expected)
            devices[user] = (devices[user] ?? []).suffix(6)
        }
        let zones = try await ListZones(test.cloud).run(in: TestCloud.address(.shared), by: Caller(user: TestCloud.bob))
        #expect(zones.isEmpty == !isMember(TestCloud.bob))
    }

    /// Returns the state of a device after it has followed the feed to its end.
    private mutating func follow(_ device: Device, _ user: UserID) async throws -> (String?, [String: Int]) {
        var known = device.known
        var token = device.token
        let limit = Int.random(in: 1...5, using: &chance)
        do {
            while true {
                let page = try await test.sharedChanges(since: token, limit: limit, by: user)
                for event in page.events {
                    switch event {
                    case .changed(let record):
                        known[record.id.recordName] =
                            record.recordType == "cloudkit.share" ? -1 : Int(record.json("n") ?? "") ?? -2
                    case .deleted(let tombstone): known[tombstone.recordName] = nil
                    }
                }
                token = page.syncToken
                if !page.moreComing { return (token, known) }
            }
        } catch let failure as RequestFailure where failure.code == .zoneNotFound {
            return (nil, [:])
        } catch let failure as RequestFailure where failure.code == .changeTokenExpired {
            return try await follow(Device(token: nil, known: [:]), user)
        }
    }
}
