import Foundation
import SeededChance
import Testing

@testable import CloudKit

@Suite(.timeLimit(.minutes(20))) struct SyncStateTests {
    private let zone = CKRecordZone.ID(zoneName: "Z")

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }

    @Test func `B-SYN-05 a later change of the same record replaces the earlier one, duplicates collapse`() {
        let state = CKSyncEngine.State(startingWith: nil)
        state.add(pendingRecordZoneChanges: [.saveRecord(id("a")), .saveRecord(id("b")), .saveRecord(id("a"))])
        state.add(pendingRecordZoneChanges: [.deleteRecord(id("a"))])
        #expect(state.pendingRecordZoneChanges == [.deleteRecord(id("a")), .saveRecord(id("b"))])
        state.add(pendingRecordZoneChanges: [.saveRecord(id("a"))])
        #expect(state.pendingRecordZoneChanges == [.saveRecord(id("a")), .saveRecord(id("b"))])
        state.remove(pendingRecordZoneChanges: [.deleteRecord(id("b")), .saveRecord(id("a"))])
        #expect(state.pendingRecordZoneChanges == [.saveRecord(id("b"))])
    }

    @Test func `B-SYN-05 zones likewise, whichever object names them`() {
        let state = CKSyncEngine.State(startingWith: nil)
        state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zone))])
        state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zone))])
        #expect(state.pendingDatabaseChanges.count == 1)
        state.add(pendingDatabaseChanges: [.deleteZone(zone)])
        #expect(state.pendingDatabaseChanges == [.deleteZone(zone)])
        state.remove(pendingDatabaseChanges: [.deleteZone(zone)])
        #expect(state.pendingDatabaseChanges.isEmpty)
    }

    @Test func `B-SYN-05, B-ZN-16 a zone that waits to be saved keeps its encryption scope across launches`() throws {
        let waiting = CKRecordZone(zoneID: zone)
        waiting.encryptionScope = .perZone
        var state = SyncState()
        _ = state.add([.saveZone(waiting), .saveZone(CKRecordZone(zoneName: "Y"))])
        let stored = try JSONEncoder().encode(SyncStateArchive(state))
        let read = try JSONDecoder().decode(SyncStateArchive.self, from: stored).state([])
        let scopes = read.databaseChanges.changes.compactMap { change in
            if case .saveZone(let zone) = change { zone.encryptionScope } else { CKRecordZone.EncryptionScope?.none }
        }
        #expect(scopes == [.perZone, .perRecord])
    }

    @Test func `A change added again during a send stays pending`() {
        var state = SyncState()
        _ = state.add([.saveRecord(id("a")), .saveRecord(id("b"))])
        let asked = state.revision
        _ = state.add([.saveRecord(id("a"))])
        _ = state.settle([.saveRecord(id("a")), .saveRecord(id("b"))], until: asked)
        #expect(state.recordChanges.changes == [.saveRecord(id("a"))])
    }

    @Test func `Untracked changes stay pending when some came after the question`() {
        var state = SyncState()
        _ = state.setUntracked(true)
        let asked = state.revision
        _ = state.setUntracked(true)
        #expect(state.settleUntracked(until: asked) == false)
        #expect(state.settleUntracked(until: state.revision) == true)
        #expect(state.hasUntrackedChanges == false)
    }

    @Test func `Only new state causes a state update`() {
        let state = CKSyncEngine.State(startingWith: nil)
        #expect(state.takeUnreported() == nil)
        state.add(pendingRecordZoneChanges: [.saveRecord(id("a"))])
        #expect(state.takeUnreported() != nil)
        state.add(pendingRecordZoneChanges: [.saveRecord(id("a"))])
        state.remove(pendingRecordZoneChanges: [.saveRecord(id("b"))])
        #expect(state.takeUnreported() == nil)
    }

    @Test func `B-SYN-01 a serialised state brings everything back`() throws {
        var state = SyncState(user: "_ada")
        let other = CKRecordZone.ID(zoneName: "Z", ownerName: "_bob")
        _ = state.noteDatabaseChanges(modified: [zone, other], deleted: [], token: "database")
        _ = state.noteZoneChanges(zone, saved: [], deleted: [], token: "zone", isLast: true, now: 0)
        _ = state.add([.saveRecord(id("a")), .deleteRecord(CKRecord.ID(recordName: "b", zoneID: other))])
        _ = state.add([.saveZone(CKRecordZone(zoneID: zone)), .deleteZone(CKRecordZone.ID(zoneName: "Old"))])
        _ = state.noteSent(
            [CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: "c", zoneID: other))], [], now: 0)
        _ = state.setUntracked(true)
        state.subscriptionID = "subscription"
        state.wasSignedOut = true
        let bytes = try JSONEncoder().encode(CKSyncEngine.State.Serialization(state: state))
        let back = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: bytes).state
        #expect(back.user == "_ada")
        #expect(back.databaseToken == "database")
        #expect(back.zones == state.zones)
        #expect(back.unfetched == [other])
        #expect(back.recordChanges.changes == state.recordChanges.changes)
        #expect(back.databaseChanges.changes == state.databaseChanges.changes)
        #expect(back.hasUntrackedChanges && back.wasSignedOut)
        #expect(back.subscriptionID == "subscription")
        let plist = try PropertyListEncoder().encode(CKSyncEngine.State.Serialization(state: state))
        #expect(
            try PropertyListDecoder().decode(CKSyncEngine.State.Serialization.self, from: plist).state.user == "_ada")
    }

    @Test func `B-CHG-08 records saved before a zone was ever read are remembered until it is`() {
        var state = SyncState()
        _ = state.noteSent(["a", "b", "c"].map { CKRecord(recordType: "T", recordID: id($0)) }, [], now: 0)
        _ = state.noteSent([], [id("c")], now: 0)
        #expect(state.zones[zone]?.savedUnread == ["a": "T", "b": "T"])
        _ = state.noteZoneChanges(zone, saved: [("a", 0)], deleted: [], token: "1", isLast: false, now: 0)
        #expect(state.zones[zone]?.savedUnread == ["b": "T"])
        _ = state.noteSent([CKRecord(recordType: "T", recordID: id("d"))], [], now: 0)
        #expect(state.zones[zone]?.savedUnread == ["b": "T"])
        _ = state.noteZoneChanges(zone, saved: [], deleted: [], token: "2", isLast: true, now: 0)
        #expect(state.zones[zone]?.token == "2")
        #expect(state.zones[zone]?.savedUnread.isEmpty == true)
    }

    @Test func `A damaged state is an error, never a trap`() throws {
        var state = SyncState(user: "_ada")
        _ = state.add([.saveRecord(id("a"))])
        _ = state.noteDatabaseChanges(modified: [zone], deleted: [], token: "t")
        let bytes = Array(try JSONEncoder().encode(CKSyncEngine.State.Serialization(state: state)))
        var chance = SplitMix64(seed: 11)
        for _ in 0..<2_000 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...3, using: &chance) {
                damaged[Int.random(in: damaged.indices, using: &chance)] = UInt8.random(in: 32...126, using: &chance)
            }
            _ = try? JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: Data(damaged))
        }
        for text in [
            #"{"version":99,"zones":[],"unfetched":[],"databaseChanges":[],"recordChanges":[]}"#,
            #"{"version":1,"zones":[],"unfetched":[3],"databaseChanges":[],"recordChanges":[]}"#,
            #"{"version":1,"zones":[{"name":"","owner":"o"}],"unfetched":[],"databaseChanges":[],"recordChanges":[]}"#,
            #"{"version":1,"zones":[{"name":"z","owner":"o"}],"unfetched":[],"databaseChanges":[],"recordChanges":[{"zone":0}]}"#,
        ] {
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: Data(text.utf8))
            }
        }
    }

    @Test func `B-SYN-12 the effects of account changes`() {
        #expect(AccountTransition(previous: nil, current: nil) == .none)
        #expect(AccountTransition(previous: nil, current: "a") == .signIn("a"))
        #expect(AccountTransition(previous: "a", current: nil) == .signOut("a"))
        #expect(AccountTransition(previous: "a", current: "a") == .none)
        #expect(AccountTransition(previous: "a", current: "b") == .switchAccounts("a", "b"))
    }

    @Test func `B-SYN-12 an account change discards everything, but not changes added before the first start`() {
        var state = SyncState()
        _ = state.add([.saveRecord(id("a"))])
        _ = state.follow(.signIn("_ada"))
        #expect(state.recordChanges.changes.count == 1)
        state.databaseToken = "t"
        _ = state.follow(.signOut("_ada"))
        #expect(state.databaseToken == nil)
        #expect(state.recordChanges.isEmpty)
        _ = state.add([.saveRecord(id("b"))])
        _ = state.follow(.signIn("_ada"))
        #expect(state.recordChanges.isEmpty)
        #expect(state.user == "_ada")
        _ = state.add([.saveRecord(id("c"))])
        _ = state.follow(.switchAccounts("_ada", "_bob"))
        #expect(state.recordChanges.isEmpty)
    }

    @Test func `B-SYN-12 changes from before the first start belong to the user who was signed in`() throws {
        var state = SyncState()
        #expect(state.wantsFirstUser)
        state.firstUser = "_ada"
        _ = state.add([.saveRecord(id("a"))])
        let bytes = try JSONEncoder().encode(CKSyncEngine.State.Serialization(state: state))
        state = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: bytes).state
        #expect(state.transition(to: nil) == .none)
        #expect(state.transition(to: "_ada") == .signIn("_ada"))
        #expect(state.transition(to: "_bob") == .switchAccounts("_ada", "_bob"))
        var adas = state
        _ = adas.follow(.signIn("_ada"))
        #expect(adas.recordChanges.changes.count == 1)
        #expect(adas.transition(to: nil) == .signOut("_ada"))
        _ = state.follow(.switchAccounts("_ada", "_bob"))
        #expect(state.recordChanges.isEmpty)
        #expect(state.transition(to: "_bob") == .none)
    }

    @Test func `B-SYN-12 changes from before a new look after a user signed out belong to the user who was signed in`()
    {
        var state = SyncState(user: "_ada")
        _ = state.follow(.signOut("_ada"))
        #expect(state.wantsFirstUser)
        state.firstUser = "_ada"
        #expect(state.transition(to: nil) == .none)
        #expect(state.transition(to: "_ada") == .signIn("_ada"))
        #expect(state.transition(to: "_bob") == .switchAccounts("_ada", "_bob"))
    }

    @Test func `B-LIM-04 a batch takes 250 changes at most and stays below the size of a request`() async {
        let many = (0..<300).map { CKSyncEngine.PendingRecordZoneChange.saveRecord(id("\($0)")) }
        let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: many) {
            CKRecord(recordType: "T", recordID: $0)
        }
        #expect(batch?.recordsToSave.count == 250)
        #expect(batch?.atomicByZone == false)
        let large = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: many) { id in
            let record = CKRecord(recordType: "T", recordID: id)
            record["data"] = Data(repeating: 1, count: 400_000)
            return record
        }
        #expect(large?.recordsToSave.count == 2)
        let none = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: many) { _ in nil }
        #expect(none == nil)
        let nothing = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: []) { _ in nil }
        #expect(nothing == nil)
    }

    @Test func `B-LIM-02 halves put parents before children and saves before deletions`() throws {
        let root = CKRecord(recordType: "T", recordID: id("root"))
        let child = CKRecord(recordType: "T", recordID: id("child"))
        child.setParent(root)
        let grandchild = CKRecord(recordType: "T", recordID: id("grandchild"))
        grandchild.setParent(child)
        let part = ZonePart(saves: [grandchild, child, root], deletes: [id("gone")], isAtomic: false)
        let (first, second) = try #require(part.halves)
        #expect(first.saves.map(\.recordID.recordName) == ["root", "child"])
        #expect(second.saves.map(\.recordID.recordName) == ["grandchild"])
        #expect(first.deletes.isEmpty)
        #expect(second.deletes.map(\.recordName) == ["gone"])
        #expect(ZonePart(saves: [root], isAtomic: false).halves == nil)
        #expect(ZonePart(saves: [root, child], isAtomic: true).halves == nil)
    }

    @Test func `Scopes contain the items that they name`() {
        let other = CKRecordZone.ID(zoneName: "Other")
        let mine = id("a")
        #expect(CKSyncEngine.SendChangesOptions.Scope.all.contains(mine))
        #expect(CKSyncEngine.SendChangesOptions.Scope.zoneIDs([zone]).contains(.saveRecord(mine)))
        #expect(!CKSyncEngine.SendChangesOptions.Scope.zoneIDs([other]).contains(mine))
        #expect(!CKSyncEngine.SendChangesOptions.Scope.allExcluding([zone]).contains(mine))
        #expect(CKSyncEngine.SendChangesOptions.Scope.recordIDs([mine]).contains(.deleteRecord(mine)))
        #expect(!CKSyncEngine.SendChangesOptions.Scope.recordIDs([id("b")]).contains(mine))
        #expect(CKSyncEngine.FetchChangesOptions.Scope.zoneIDs([zone]).contains(zone))
        #expect(!CKSyncEngine.FetchChangesOptions.Scope.allExcluding([zone]).contains(zone))
    }
}
