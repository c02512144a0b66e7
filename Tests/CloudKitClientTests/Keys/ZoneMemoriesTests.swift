import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import Foundation
import Testing

@testable import CloudKitClient
@testable import ScriptedCloud

@Suite(.timeLimit(.minutes(20))) struct ZoneMemoriesTests {
    private let zone = SampleKeys.zone().salt
    private let key = SampleKeys.zone().access.root.stateKey(of: SampleKeys.zone().place)

    private func folder() -> String { NSTemporaryDirectory() + "zones-\(UUID().uuidString)" }

    private func change(_ record: UInt64, _ version: UInt64 = 1) -> StatedChange {
        StatedChange(record: record, version: version, tag: 3, isDeletion: false, created: 4)
    }

    private func begin(_ memories: ZoneMemories, now: Int64 = 100_000, isFeed: Bool = true) -> ZoneExchange {
        memories.begin(zone, key: key, epoch: 2, now: now, isFeed: isFeed)
    }

    private func states(_ incarnation: String, _ list: [(String, UInt64)] = []) -> ZoneStates {
        ZoneStates(
            incarnation: incarnation, forgetsDeletions: false,
            states: list.map { ZoneDeviceState(device: $0.0, number: $0.1) })
    }

    /// Lets the memory know the zone.
    private func enter(_ memories: ZoneMemories, _ incarnation: String = "1-1") {
        memories.take(states(incarnation), for: begin(memories), in: zone)
    }

    @Test func `B-TM-14 a device writes what it changed since it knows the zone, until the cloud lists it`() throws {
        let memories = ZoneMemories(folder: nil)
        memories.note([change(1)], in: zone, incarnation: "")
        #expect(begin(memories).request.update == nil)
        enter(memories)
        memories.note([change(1)], in: zone, incarnation: "0-1")
        #expect(begin(memories).request.update == nil)
        memories.note([change(1), change(2)], in: zone, incarnation: "1-1")
        memories.note([change(1, 2)], in: zone, incarnation: "1-1")
        let exchange = begin(memories)
        let update = try #require(exchange.request.update)
        let device = try #require(ZoneStateDevice(text: update.state.device))
        let opened = try key.open(
            update.state.bytes, of: device, number: update.state.number, incarnation: "1-1")
        #expect(opened == ZoneState(epoch: 2, others: [:], changes: [change(2), change(1, 2)]))
        // Each page of one feed does not send it again; a request that was lost does, later.
        #expect(begin(memories).request.update == nil)
        let again = try #require(begin(memories, now: 110_000).request.update)
        #expect(again.state.number > update.state.number)
        memories.take(states("1-1", [(update.state.device, again.state.number)]), for: exchange, in: zone)
        #expect(begin(memories, now: 200_000).request.update == nil)
    }

    @Test func `saves take a state at times only`() {
        let memories = ZoneMemories(folder: nil)
        enter(memories)
        memories.note([change(1)], in: zone, incarnation: "1-1")
        #expect(begin(memories, now: 100_000, isFeed: false).request.update != nil)
        memories.note([change(2)], in: zone, incarnation: "1-1")
        #expect(begin(memories, now: 109_999, isFeed: false).request.update == nil)
        #expect(begin(memories, now: 110_000, isFeed: false).request.update != nil)
    }

    @Test func `numbers of others are remembered after a restart, with the incarnations that ended`() throws {
        let folder = folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try PrivateFile.makeFolder(folder)
        let other = key.newDevice().text
        let first = ZoneMemories(folder: folder)
        enter(first)
        first.note([change(1)], in: zone, incarnation: "1-1")
        let sent = begin(first)
        let number = try #require(sent.request.update).state.number
        first.take(states("1-1", [(other, 7), (sent.device, number)]), for: sent, in: zone)
        let second = begin(ZoneMemories(folder: folder))
        #expect(second.others == [other: 7] && second.device == sent.device && second.confirmed == number)
        #expect(second.incarnation == "1-1" && second.request.known == [other: 7])
        // Lower numbers of a late answer are nothing new.
        first.take(states("1-1", [(other, 6)]), for: sent, in: zone)
        #expect(begin(first).others == [other: 7])
        first.take(states("2-1"), for: begin(first), in: zone)
        let third = begin(ZoneMemories(folder: folder))
        #expect(third.ended == ["1-1"] && third.others.isEmpty && third.confirmed == 0)
        #expect(third.device == sent.device)
    }

    @Test func `an answer that was overtaken does not bring an incarnation back`() {
        let memories = ZoneMemories(folder: nil)
        enter(memories)
        let late = begin(memories)
        enter(memories, "2-1")
        memories.take(states("3-1"), for: late, in: zone)
        #expect(memories.incarnation(of: zone) == "2-1")
    }

    @Test func `a state has the newest changes`() throws {
        let memories = ZoneMemories(folder: nil)
        enter(memories)
        for record in 0..<100 { memories.note([change(UInt64(record))], in: zone, incarnation: "1-1") }
        let update = try #require(begin(memories).request.update)
        let device = try #require(ZoneStateDevice(text: update.state.device))
        let opened = try key.open(update.state.bytes, of: device, number: update.state.number, incarnation: "1-1")
        #expect(opened.changes.map(\.record) == Array(36..<100))
    }

    @Test func `B-TM-14 changes that do not agree with what was seen`() {
        let versions = RecordVersions(folder: nil)
        let seen = StatedVersion(number: 5, tag: 3, holdsValues: true)
        _ = versions.see([("r", seen), ("gone", seen)], in: zone, since: versions.mark)
        let deletions = versions.forget(["gone", "never"], in: zone, since: versions.mark)
        #expect(deletions.map(\.version) == [5] && deletions.allSatisfy { $0.isDeletion && $0.tag == 3 })
        let (record, gone) = (zone.recordHash("r"), zone.recordHash("gone"))
        func disagrees(_ record: UInt64, _ version: UInt64, tag: UInt32 = 3, isDeletion: Bool = false) -> Bool {
            let change = StatedChange(
                record: record, version: version, tag: tag, isDeletion: isDeletion, created: 0)
            return !versions.disagreeing(with: [change], in: zone).isEmpty
        }
        #expect(!disagrees(record, 4) && !disagrees(record, 5) && disagrees(record, 5, tag: 4) && disagrees(record, 6))
        #expect(disagrees(record, 5, isDeletion: true) && !disagrees(record, 5, tag: 4, isDeletion: true))
        #expect(!disagrees(record, 4, isDeletion: true) && !disagrees(record, 6, isDeletion: true))
        #expect(!disagrees(gone, 5) && disagrees(gone, 6) && !disagrees(gone, 5, isDeletion: true))
        #expect(disagrees(9, 1) && !disagrees(9, 1, isDeletion: true))
    }
}
