import Foundation
import Testing

@testable import CloudKit

/// What an engine remembers for a cloud that is restored, and what it offers again.
@Suite(.timeLimit(.minutes(5))) struct RecentChangesTests {
    private let zone = CKRecordZone.ID(zoneName: "Notes")
    private let day: Int64 = 86_400_000
    private let now: Int64 = 100 * 86_400_000

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }

    @Test func `B-SYN-17 the newest change of a record counts, with some minutes to spare`() {
        var recent = RecentChanges()
        recent.noteSaved("old", at: now - day)
        recent.noteSaved("near", at: now - 60_000)
        recent.noteSaved("new", at: now + 5)
        recent.noteSaved("gone", at: now + 6)
        recent.noteDeleted("gone", at: now + 7)
        recent.noteDeleted("back", at: now + 7)
        recent.noteSaved("back", at: now + 8)
        #expect(recent.saved(since: now) == ["near", "new", "back"])
        #expect(recent.deleted(since: now) == ["gone": now + 7])
        #expect(recent.saved(since: 0).count == 4)
    }

    @Test func `B-SYN-17 what was fetched is remembered for a week, and deletions of others are not offered`() {
        var recent = RecentChanges()
        recent.noteFetched(
            [("young", now - day), ("week", now - 8 * day), ("deleted", now)], deleted: [], now: now)
        recent.noteFetched([], deleted: ["deleted"], now: now)
        #expect(recent.saved == ["young": now - day])
        #expect(recent.deleted.isEmpty)
    }

    @Test func `B-SYN-17 the oldest changes are forgotten first`() {
        var recent = RecentChanges()
        for number in 0..<(RecentChanges.changesMax + 50) { recent.noteSaved("\(number)", at: now + Int64(number)) }
        #expect(recent.saved.count <= RecentChanges.changesMax)
        #expect(recent.saved.count > RecentChanges.changesMax / 2)
        #expect(recent.saved["\(RecentChanges.changesMax + 49)"] != nil)
        #expect(recent.saved["0"] == nil)
    }

    @Test func `B-SYN-17 records and zones are offered once, and what the app added stays`() {
        var state = SyncState(user: "_ada")
        _ = state.noteDatabaseChanges(modified: [zone], deleted: [], token: "t")
        _ = state.noteZoneChanges(
            zone, saved: [("a", now + 1), ("b", now + 2)], deleted: [], token: "z", isLast: true, now: now)
        _ = state.add([.deleteRecord(id("b"))])
        var missing = state
        state.offerAgain(since: now, living: [zone], canMakeZones: true)
        #expect(state.recordChanges.changes == [.deleteRecord(id("b")), .saveRecord(id("a"))])
        #expect(state.databaseChanges.isEmpty)
        state.offerAgain(since: now, living: [zone], canMakeZones: true)
        #expect(state.recordChanges.changes.count == 2)
        missing.offerAgain(since: now, living: [], canMakeZones: true)
        #expect(missing.databaseChanges.changes.map(\.zoneID) == [zone])
        #expect(missing.zonesToMake == [zone])
        #expect(missing.recordChanges.changes.count == 2)
    }

    @Test func `B-SYN-17 a zone of another user is not made again`() {
        var state = SyncState(user: "_ada")
        _ = state.noteDatabaseChanges(modified: [zone], deleted: [], token: "t")
        _ = state.noteZoneChanges(zone, saved: [("a", now + 1)], deleted: [], token: "z", isLast: true, now: now)
        state.offerAgain(since: now, living: [], canMakeZones: false)
        #expect(!state.hasWork)
    }

    @Test func `B-SYN-17 what is deleted again is what the engine deleted after the moment, and nobody saved since`() {
        let restoration = ZoneRestoration(moment: now, deleted: ["a": now + 10])
        #expect(restoration.isDeleted("a", changed: now - 5))
        #expect(!restoration.isDeleted("a", changed: now + 20))
        #expect(!restoration.isDeleted("b", changed: now - 5))
        #expect(!restoration.isDeleted("a", changed: nil))
    }

    @Test func `B-SYN-17 of a state of unknown time what is deleted again is no newer than what the engine had met`() {
        var state = SyncState(user: "_ada")
        _ = state.noteDatabaseChanges(modified: [zone], deleted: [], token: "t")
        _ = state.noteZoneChanges(
            zone, saved: [("a", now + 1), ("b", now + 7)], deleted: [], token: "z", isLast: true, now: now)
        // The device's clock is three minutes ahead.
        _ = state.noteSent([], [id("a")], now: now + 180_000)
        for _ in 0..<2 { state.offerAgain(since: 0, in: zone) }
        let restoration = state.zones[zone]?.restoration
        #expect(restoration?.isDeleted("a", changed: now + 1) == true)
        #expect(restoration?.isDeleted("a", changed: now + 7) == true)
        #expect(restoration?.isDeleted("a", changed: now + 8) == false)
    }

    @Test func `B-SYN-17 the state keeps what a cloud may lose`() throws {
        var state = SyncState(user: "_ada")
        _ = state.noteSent([CKRecord(recordType: "T", recordID: id("a"))], [], now: now)
        _ = state.noteSent([], [id("b")], now: now + 1)
        _ = state.noteSent(zones: [zone], now: now + 2)
        state.offerAgain(since: now, living: [], canMakeZones: true)
        _ = state.noteSent([CKRecord(recordType: "T", recordID: id("c"))], [id("d")], now: now + 3)
        let bytes = try JSONEncoder().encode(CKSyncEngine.State.Serialization(state: state))
        let back = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: bytes).state
        #expect(back.zones == state.zones)
        #expect(back.zones[zone]?.restoration?.deleted == ["b": now + 1])
    }
}
