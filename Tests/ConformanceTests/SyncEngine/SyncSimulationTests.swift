import CloudKitTesting
import FaultyNetwork
import Foundation
import SeededChance
import Testing

@testable import CloudKit

/// Devices of one user on a bad network, killed now and then: in the end all agree, and nothing that was stored is lost.
@Suite(.timeLimit(.minutes(20))) struct SyncSimulationTests {
    /// More with `SYNC_SEEDS=200`, one with `SYNC_SEED=17`.
    static var seeds: [UInt64] {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SYNC_SEED"].flatMap({ UInt64($0) }) { return [seed] }
        return Array(0..<(environment["SYNC_SEEDS"].flatMap { UInt64($0) } ?? 8))
    }

    @Test(arguments: seeds)
    func `B-SYN-01 B-SYN-15 devices that edit, lose messages and die agree in the end, without loss`(seed: UInt64)
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            var simulation = try await SyncSimulation(cloud, devices: 3, seed: seed)
            try await simulation.clock.passing {
                for _ in 0..<80 { try await simulation.step() }
                try await simulation.settle()
                try await simulation.judge()
            }
        }
    }
}

private struct SyncSimulation {
    private var chance: SplitMix64
    let clock = TestClock(skipsWaits: false)
    private var devices: [NotebookDevice] = []
    private var edit = 0
    /// The latest edit of each note that is never deleted, among those that any device's disk has held.
    private var stored: [String: Int] = [:]

    init(_ cloud: ThrowawayCloud, devices count: Int, seed: UInt64) async throws {
        chance = SplitMix64(seed: seed)
        let user = try await cloud.addUser("ada")
        for number in 0..<count {
            let weather = Weather(seed: seed &* 31 &+ UInt64(number))
            let container = try await cloud.device(
                of: user, over: weather.network(clock), clientEnvironment: clock.clientEnvironment)
            let database = container.privateCloudDatabase
            devices.append(try NotebookDevice(database, weather))
        }
    }

    mutating func step() async throws {
        clock.advance(by: .seconds(5))
        let index = Int.random(in: devices.indices, using: &chance)
        let app = devices[index].app
        switch Int.random(in: 0..<100, using: &chance) {
        case ..<40:
            edit += 1
            let kind = Bool.random(using: &chance) ? "keep" : "drop"
            await app.write("\(kind)\(Int.random(in: 0..<6, using: &chance))", "text \(edit)", edit: edit)
        case ..<47:
            let droppable = await app.notes.keys.filter { $0.hasPrefix("drop") }.sorted()
            if let name = droppable.randomElement(using: &chance) { await app.remove(name) }
        case ..<65:
            try? await app.syncEngine.sendChanges()
        case ..<83:
            try? await app.syncEngine.fetchChanges()
        case ..<92:
            await app.die(after: Int.random(in: 0..<8, using: &chance))
            if Bool.random(using: &chance) { try? await app.syncEngine.sendChanges() }
            try? await app.syncEngine.fetchChanges()
            try await devices[index].restart()
        default:
            devices[index].weather.become([0, 0.3, 0.8].randomElement(using: &chance) ?? 0)
        }
        await note(index)
    }

    /// Remembers what the disk of a device has stored.
    private mutating func note(_ index: Int) async {
        for (name, note) in await devices[index].storedNotes() ?? [:] where name.hasPrefix("keep") {
            stored[name] = max(stored[name] ?? 0, note.edit)
        }
    }

    /// Repairs the network until no device has anything left to send.
    func settle() async throws { try await devices.settle(clock, roundsMax: 20) }

    func judge() async throws {
        let held = try await devices[0].database.heldNotes()
        for (number, device) in devices.enumerated() {
            let notes = await device.app.notes
            let odd = Set(notes.keys).union(held.keys).filter { notes[$0] != held[$0] }.sorted()
            #expect(odd.isEmpty, "device \(number): \(odd.map { ($0, notes[$0]?.edit, held[$0]?.edit) })")
        }
        for (name, edit) in stored { #expect(held[name]?.edit ?? -1 >= edit, "\(name)") }
    }
}
