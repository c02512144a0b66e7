import FaultyNetwork
import Foundation
import SeededChance
import Testing

@testable import CloudKit
@testable import CloudKitClient
@testable import CloudKitTesting

/// Devices whose cloud is restored from a backup: what any of them had is in the cloud again, once.
@Suite(.timeLimit(.minutes(20))) struct RestoredCloudTests {
    @Test func `B-SYN-17 B-BKD-13 records saved after the moment are sent again by the device that saved them`()
        async throws
    {
        try await RestorableCloud.run { cloud in
            let user = try await cloud.present.addUser("ada")
            let app = try await cloud.app(of: user)
            await app.write("old", "one", edit: 1)
            await app.write("changed", "one", edit: 2)
            await app.write("deleted", "one", edit: 3)
            try await app.sync()
            let moment = try await cloud.backUp()
            await app.write("changed", "two", edit: 4)
            await app.write("new", "one", edit: 5)
            await app.remove("deleted")
            try await app.sync()
            try await cloud.restore(moment)
            try await app.syncEngine.fetchChanges()
            try await app.sync()
            let texts = ["old": "one", "changed": "two", "new": "one"]
            #expect(await app.notes.mapValues(\.text) == texts)
            // The zone's token expired, and the app was told.
            #expect(await app.log.contains { $0.contains("didFetchRecordZoneChanges") })
            let second = try await cloud.app(of: user)
            try await second.sync()
            #expect(await second.notes.mapValues(\.text) == texts)
            #expect(await second.deletions.isEmpty)
            #expect(try await cloud.problems().isEmpty)
        }
    }

    @Test func `B-SYN-17 a record is sent again by a device that only fetched it`() async throws {
        try await RestorableCloud.run { cloud in
            let user = try await cloud.present.addUser("ada")
            let lost = try await cloud.app(of: user)
            let other = try await cloud.app(of: user)
            await lost.write("a", "one", edit: 1)
            try await lost.sync()
            let moment = try await cloud.backUp()
            await lost.write("a", "two", edit: 2)
            await lost.write("b", "one", edit: 3)
            try await lost.sync()
            try await other.sync()
            try await cloud.restore(moment)
            try await other.sync()
            let third = try await cloud.app(of: user)
            try await third.sync()
            #expect(await third.notes.mapValues(\.text) == ["a": "two", "b": "one"])
        }
    }

    @Test func `B-SYN-17 a zone that was made after the moment is made again, with its records`() async throws {
        try await RestorableCloud.run { cloud in
            let user = try await cloud.present.addUser("ada")
            let app = try await cloud.app(of: user)
            let other = try await cloud.app(of: user)
            let moment = try await cloud.backUp()
            await app.write("a", "one", edit: 1)
            try await app.sync()
            try await other.sync()
            try await cloud.restore(moment)
            try await other.sync()
            try await app.sync()
            try await other.sync()
            for device in [app, other, try await cloud.app(of: user)] {
                try await device.sync()
                #expect(await device.deletions.isEmpty)
                #expect(await device.notes.mapValues(\.text) == ["a": "one"])
            }
        }
    }

    @Test(arguments: [false, true])
    func `B-SYN-17 a device that saved and never fetched loses nothing`(isZoneInMoment: Bool) async throws {
        try await RestorableCloud.run { cloud in
            let user = try await cloud.present.addUser("ada")
            let other = try await cloud.device(of: user).privateCloudDatabase
            if isZoneInMoment { try await other.save(Notebook.zone) }
            let app = try await cloud.app(of: user)
            let moment = try await cloud.backUp()
            await app.write("a", "one", edit: 1)
            try await app.syncEngine.sendChanges()
            try await cloud.restore(moment)
            try await app.syncEngine.fetchChanges()
            try await app.sync()
            #expect(await app.deletions.isEmpty)
            for device in [app, try await cloud.app(of: user)] {
                try await device.sync()
                #expect(await device.notes.mapValues(\.text) == ["a": "one"])
            }
        }
    }

    @Test(arguments: ["Z", CKRecordZone.ID.defaultZoneName])
    func `B-BKD-13 nor does one of a database that had no version at the moment`(zoneName: String) async throws {
        try await RestorableCloud.run { cloud in
            let user = try await cloud.present.addUser("ada")
            let one = try await cloud.device(of: user).privateCloudDatabase
            let two = try await cloud.device(of: user).privateCloudDatabase
            let moment = try await cloud.backUp()
            let zone = CKRecordZone(zoneName: zoneName)
            func save(_ text: String, in database: CKDatabase) async throws -> CKRecord {
                if zoneName != CKRecordZone.ID.defaultZoneName { try await database.save(zone) }
                let record = CKRecord(
                    recordType: "Note", recordID: CKRecord.ID(recordName: "r", zoneID: zone.zoneID))
                record["text"] = text
                return try await database.save(record)
            }
            let lost = try await save("lost", in: one)
            try await cloud.restore(moment)
            _ = try await save("other", in: two)
            lost["text"] = "newer"
            let error = await #expect(throws: CKError.self) { try await one.save(lost) }
            #expect(error?.code == .serverRecordChanged)
            #expect(try await two.record(for: lost.recordID)["text"] as? String == "other")
        }
    }

    @Test func `B-BKD-13 a change tag of a lost version never matches a later one`() async throws {
        try await RestorableCloud.run { cloud in
            let user = try await cloud.present.addUser("ada")
            let one = try await cloud.device(of: user).privateCloudDatabase
            let two = try await cloud.device(of: user).privateCloudDatabase
            let zone = try await one.save(CKRecordZone(zoneName: "Z")).zoneID
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "r", zoneID: zone))
            record["text"] = "one"
            try await one.save(record)
            let moment = try await cloud.backUp()
            let held = try await one.record(for: record.recordID)
            held["text"] = "lost"
            let lost = try await one.save(held)
            try await cloud.restore(moment)
            // As many changes as before: the versions would be those that the first device knows.
            let other = try await two.record(for: record.recordID)
            other["text"] = "other"
            try await two.save(other)
            lost["text"] = "of a lost version"
            let error = await #expect(throws: CKError.self) { try await one.save(lost) }
            #expect(error?.code == .serverRecordChanged)
            #expect(error?.serverRecord?["text"] == "other")
        }
    }

    @Test func `B-SYN-17 an engine that dies while it offers its changes again loses none`() async throws {
        for events in 0..<14 {
            try await RestorableCloud.run { cloud in
                let user = try await cloud.present.addUser("ada")
                let device = try await cloud.device(of: user).privateCloudDatabase
                var app = try Notebook(device)
                await app.write("old", "one", edit: 1)
                try await app.sync()
                let moment = try await cloud.backUp()
                await app.write("old", "two", edit: 2)
                await app.write("new", "one", edit: 3)
                try await app.sync()
                try await cloud.restore(moment)
                await app.die(after: events)
                try? await app.syncEngine.fetchChanges()
                app = try Notebook(device, disk: await app.disk)
                try await app.sync()
                try await app.sync()
                let second = try await cloud.app(of: user)
                try await second.sync()
                let notes = await second.notes.mapValues(\.text)
                #expect(notes == ["old": "two", "new": "one"], "after \(events) events")
            }
        }
    }

    // MARK: Sealed records

    @Test func `B-TM-15 B-SYN-17 a sealed record that is older in a restored cloud is sent again`()
        async throws
    {
        try await RestorableCloud.run { cloud in
            let user = try await cloud.present.addUser("ada")
            let app = try await cloud.app(of: user, isSealed: true)
            let other = try await cloud.app(of: user, isSealed: true)
            await app.write("changed", "one", edit: 1)
            try await app.sync()
            let moment = try await cloud.backUp()
            await app.write("changed", "two", edit: 2)
            await app.write("new", "one", edit: 3)
            try await app.sync()
            try await other.sync()
            try await cloud.restore(moment)
            // Only this device offers them; the other one, which has seen them as well, hears of them again.
            try await other.sync()
            try await app.sync()
            try await other.sync()
            let third = try await cloud.app(of: user, isSealed: true)
            for device in [app, other, third] {
                try await device.sync()
                #expect(await device.notes.mapValues(\.text) == ["changed": "two", "new": "one"])
                #expect(await device.syncEngine.state.pendingRecordZoneChanges.isEmpty)
            }
        }
    }

    @Test func `B-TM-15 an engine asks its app for a record that is older, and gives up on one it lacks`()
        async throws
    {
        try await RestorableCloud.run { cloud in
            let user = try await cloud.present.addUser("ada")
            let app = try await cloud.app(of: user, isSealed: true)
            for name in ["kept", "forgotten"] { await app.write(name, "one", edit: 1) }
            try await app.sync()
            let moment = try await cloud.backUp()
            for name in ["kept", "forgotten"] { await app.write(name, "two", edit: 2) }
            try await app.sync()
            await app.forget("forgotten")
            await app.syncEngine.forgetRecentChanges()
            try await cloud.restore(moment)
            try await app.sync()
            let second = try await cloud.app(of: user, isSealed: true)
            try await second.sync()
            #expect(await second.notes.mapValues(\.text) == ["kept": "two", "forgotten": "one"])
            #expect(await app.notes.mapValues(\.text) == ["kept": "two"])
            #expect(await app.syncEngine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func `B-TM-15 B-SYN-17 an engine gets what its app lacks once the user has accepted the restored state`()
        async throws
    {
        try await RestorableCloud.run { cloud in
            let one = try await SharingHousehold.newcomer("ada", cloud.present, over: cloud.network())
            let two = SigningDevice(cloud.present, "ada-2", over: cloud.network())
            try await two.enter(SharingHousehold.password, as: "ada@example.com")
            var app = try Notebook(one.container.privateCloudDatabase, isSealed: true)
            for name in ["kept", "forgotten", "gone"] { await app.write(name, "one", edit: 1) }
            try await app.sync()
            let moment = try await cloud.backUp()
            await app.write("forgotten", "two", edit: 2)
            try await app.sync()
            await app.forget("forgotten")
            await app.syncEngine.forgetRecentChanges()
            try await two.container.privateCloudDatabase.deleteRecord(
                withID: CKRecord.ID(recordName: "gone", zoneID: Notebook.zone.zoneID))
            try await app.sync()
            #expect(await app.notes.keys.sorted() == ["kept"])
            try await cloud.restore(moment)
            try await app.sync()
            #expect(await app.notes["forgotten"] == nil)
            // The app ends meanwhile.
            app = try Notebook(one.container.privateCloudDatabase, disk: await app.disk, isSealed: true)
            try await app.sync()
            #expect(await app.notes["forgotten"] == nil)
            let configuration = one.configuration
            try configuration.deviceProfile.acceptRestorations(of: configuration.endpoint)
            // Read from the beginning, the zone does not tell of it.
            try await two.container.privateCloudDatabase.deleteRecord(
                withID: CKRecord.ID(recordName: "kept", zoneID: Notebook.zone.zoneID))
            try await app.sync()
            #expect(await app.notes.mapValues(\.text) == ["forgotten": "one", "gone": "one"])
        }
    }

    @Test func `B-TM-15 B-SYN-17 an engine gets what was sealed under a lost key once its owner has begun a later one`()
        async throws
    {
        try await RestorableCloud.run { cloud in
            let network = InterruptedTransport()
            let home = try await SharingHousehold(cloud.present, over: cloud.network(over: network))
            let (zone, folder, _) = try await home.makeFolder()
            let theirs = try await home.shared(zone)
            var share = try await home.share(folder, with: ["ben", "cat"])
            for guest in [home.ben, home.cat] { try await home.accept(share.url, on: guest) }
            // In a later key epoch of the zone than the folder's, records are sealed for guests under the share's key alone.
            try await home.remove("ben", from: share.recordID, by: home.ada)
            try await write("later", to: "Two", in: zone, home.ada.privateCloudDatabase)
            share = try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID))
            try await home.invite(["ben"], to: share)
            share = try asShare(try await home.ada.privateCloudDatabase.save(share))
            try await home.accept(share.url, on: home.ben)
            let configuration = home.signedIn.ada.configuration
            // An app that begins looks at shares before it saves.
            let ada = CKContainer(
                configuration: configuration, transport: cloud.network(over: network), clientEnvironment: .system
            ).privateCloudDatabase
            let (owner, guest) = (
                try SharedNotebook(ada, zone: zone), try SharedNotebook(home.cat.sharedCloudDatabase, zone: theirs)
            )
            try await guest.syncEngine.fetchChanges()
            try await home.ben.sharedCloudDatabase.deleteRecord(
                withID: CKRecord.ID(recordName: share.recordID.recordName, zoneID: theirs))
            let moment = try await cloud.backUp()
            // The key is lost that the owner's device begins before it saves, once the device has seen it in the cloud.
            let (stores, stored) = AsyncStream.makeStream(of: Void.self)
            let (restorations, restored) = AsyncStream.makeStream(of: Void.self)
            network.interrupt("private/shares/keys/store", .after) {
                network.interrupt("private/records/lookup", .after) {
                    stored.finish()
                    for await _ in restorations {}
                }
            }
            let note = SharedNotebook.Note(text: "sealed", edit: 1)
            await owner.write("Three", note)
            async let sending: Void = {
                try? await owner.syncEngine.sendChanges()
                stored.finish()
            }()
            for await _ in stores {}
            try await cloud.restore(moment)
            restored.finish()
            await sending
            try? await guest.syncEngine.fetchChanges()
            #expect(await owner.acknowledged["Three"] == 1)
            #expect(await guest.notes["Three"] == nil)

            await #expect(throws: CKError.self) { try await ada.record(for: share.recordID) }
            try configuration.deviceProfile.acceptRestorations(of: configuration.endpoint)
            _ = try await ada.record(for: share.recordID)
            try await guest.syncEngine.fetchChanges()
            #expect(await guest.notes["Three"] == note)
        }
    }

    @Test func `B-TM-15 without an engine an older version is an error that says so, and a save over it succeeds`()
        async throws
    {
        try await RestorableCloud.run { cloud in
            let user = try await cloud.present.addUser("ada")
            let device = try await cloud.device(of: user)
            let one = device.privateCloudDatabase
            let two = try await cloud.device(of: user).privateCloudDatabase
            let zone = try await one.save(CKRecordZone(zoneName: "Z")).zoneID
            func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }
            for name in ["r", "s", "gone"] {
                let record = CKRecord(recordType: "Note", recordID: id(name))
                record.encryptedValues["text"] = "one"
                record.encryptedValues["extra"] = "one"
                try await one.save(record)
            }
            let moment = try await cloud.backUp()
            var held: [String: CKRecord] = [:]
            for name in ["r", "s"] {
                let record = try await one.record(for: id(name))
                record.encryptedValues["text"] = "two"
                held[name] = try await one.save(record)
            }
            try await one.deleteRecord(withID: id("gone"))
            try await cloud.restore(moment)
            let error = await #expect(throws: CKError.self) { try await one.record(for: id("r")) }
            #expect(error?.code == .internalError && error?.isOfLostVersion == true)
            #expect(error?.localizedDescription.contains("says that it was restored") == true)
            // The device that has not seen a newer version reads what there is, and writes a third version.
            let third = try await two.record(for: id("s"))
            #expect(third.encryptedValues["text"] == "one")
            third.encryptedValues["text"] = "three"
            try await two.save(third)
            #expect(try await one.record(for: id("s")).encryptedValues["text"] == "three")
            // A conflict with it is one; the lost version is not.
            let lost = try #require(held["s"])
            lost.encryptedValues["text"] = "four"
            let conflict = await #expect(throws: CKError.self) { try await one.save(lost) }
            #expect(conflict?.serverRecord?.encryptedValues["text"] == "three")
            let record = try #require(held["r"])
            record.encryptedValues["extra"] = "two"
            try await one.save(record)
            for database in [one, two] {
                let found = try await database.record(for: id("r"))
                #expect(found.encryptedValues["text"] == "two" && found.encryptedValues["extra"] == "two")
            }
            // A record that was deleted is there again, and the device knows.
            _ = try await one.record(for: id("gone"))
            let known = try #require(device.connection.cloud.restorations.known)
            #expect(known.claims.map(\.returned) == [["Z/gone"]] && known.claims.map(\.older) == [["Z/r"]])
        }
    }

    @Test func `B-TM-15 a save of which some encrypted values are unknown does not bring back older ones`() async throws
    {
        try await RestorableCloud.run { cloud in
            let user = try await cloud.present.addUser("ada")
            let database = try await cloud.device(of: user).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z")).zoneID
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "r", zoneID: zone))
            for key in ["text", "extra"] { record.encryptedValues[key] = "one" }
            try await database.save(record)
            let moment = try await cloud.backUp()
            let held = try await database.record(for: record.recordID)
            for key in ["text", "extra"] { held.encryptedValues[key] = "two" }
            try await database.save(held)
            let results = try await database.records(for: [record.recordID], desiredKeys: ["text"])
            let part = try #require(try results[record.recordID]?.get())
            try await cloud.restore(moment)
            part.encryptedValues["text"] = "three"
            let error = await #expect(throws: CKError.self) { try await database.save(part) }
            #expect(error?.isOfLostVersion == true)
            // The whole record goes.
            held.encryptedValues["text"] = "three"
            try await database.save(held)
            let found = try await database.record(for: record.recordID)
            #expect(found.encryptedValues["text"] == "three" && found.encryptedValues["extra"] == "two")
        }
    }

    // MARK: The campaign

    /// More with `RESTORE_SEEDS=200`, one with `RESTORE_SEED=17`.
    static var seeds: [UInt64] {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["RESTORE_SEED"].flatMap({ UInt64($0) }) { return [seed] }
        let first = environment["RESTORE_FIRST_SEED"].flatMap { UInt64($0) } ?? 0
        return Array(first..<first + (environment["RESTORE_SEEDS"].flatMap { UInt64($0) } ?? 3))
    }

    @Test(arguments: seeds)
    func `B-SYN-17 devices that write while moments are taken lose nothing when one is restored`(seed: UInt64)
        async throws
    {
        try await RestorableCloud.run { cloud in
            var campaign = try await RestoreCampaign(cloud, devices: 3, isSealed: seed % 2 == 1, seed: seed)
            try await campaign.clock.passing {
                for _ in 0..<RestoreCampaign.restorations { try await campaign.round() }
                try await campaign.settle()
                try await campaign.judge()
            }
        }
    }
}

extension RestorableCloud {
    /// A new device of a user.
    func device(of user: ThrowawayCloud.User, weather: Weather? = nil, _ clock: TestClock? = nil) async throws
        -> CKContainer
    {
        guard let weather, let clock else { return try await present.device(of: user, over: network()) }
        return try await present.device(
            of: user, over: network(over: weather.network(clock)), clientEnvironment: clock.clientEnvironment)
    }

    /// A new device with an app on it.
    func app(of user: ThrowawayCloud.User, isSealed: Bool = false) async throws -> Notebook {
        try Notebook(try await device(of: user).privateCloudDatabase, isSealed: isSealed)
    }
}

extension CKSyncEngine {
    /// Forgets what was changed last, as after many other changes.
    fileprivate func forgetRecentChanges() async {
        await post(
            nil,
            preparing: { state in
                for zone in state.zones.keys { state.zones[zone]?.recent = RecentChanges() }
                return true
            })
    }
}

extension Notebook {
    /// Fetches and sends until nothing is left to send.
    func sync() async throws {
        try await syncEngine.fetchChanges()
        for _ in 0..<5 {
            try? await syncEngine.sendChanges()
            if syncEngine.state.pendingRecordZoneChanges.isEmpty, syncEngine.state.pendingDatabaseChanges.isEmpty {
                break
            }
        }
        try await syncEngine.fetchChanges()
    }
}

/// Devices that write, fetch, send and die, moments that are taken meanwhile, and restorations of any of them.
private struct RestoreCampaign {
    static let restorations = 4
    private static let steps = 24

    private let cloud: RestorableCloud
    let clock = TestClock(skipsWaits: false)
    private var chance: SplitMix64
    private var devices: [NotebookDevice] = []
    private var moments: [String] = []
    private var edit = 0
    /// The latest edit of each note that is never deleted, among those that any device's disk has held.
    private var stored: [String: Int] = [:]

    init(_ cloud: RestorableCloud, devices count: Int, isSealed: Bool, seed: UInt64) async throws {
        self.cloud = cloud
        chance = SplitMix64(seed: seed)
        let user = try await cloud.present.addUser("ada")
        for number in 0..<count {
            let weather = Weather(seed: seed &* 31 &+ UInt64(number))
            let database = try await cloud.device(of: user, weather: weather, clock).privateCloudDatabase
            devices.append(try NotebookDevice(database, weather, isSealed: isSealed))
        }
        moments.append(try await cloud.backUp())
    }

    /// Steps of devices with moments taken beside them, then a restoration.
    mutating func round() async throws {
        var left = Self.steps
        while left > 0 {
            let count = Int.random(in: 1...8, using: &chance)
            let backUp = cloud.backUpOfPresent
            async let moment = backUp()
            for _ in 0..<min(count, left) { try await step() }
            moments.append(try await moment)
            left -= count
        }
        let moment = moments.randomElement(using: &chance) ?? moments[0]
        // Some devices are in the middle of something.
        let busy = devices.randomElement(using: &chance)?.app
        async let sending: Void? = try? busy?.syncEngine.sendChanges()
        try await cloud.restore(moment)
        _ = await sending
        // The lost future is not a part of the past any more.
        for index in devices.indices { await note(index) }
    }

    private mutating func step() async throws {
        clock.advance(by: .seconds(5))
        let index = Int.random(in: devices.indices, using: &chance)
        let app = devices[index].app
        switch Int.random(in: 0..<100, using: &chance) {
        case ..<40:
            edit += 1
            let kind = Int.random(in: 0..<3, using: &chance) > 0 ? "keep" : "drop"
            await app.write("\(kind)\(Int.random(in: 0..<9, using: &chance))", "text \(edit)", edit: edit)
        case ..<46:
            let droppable = await app.notes.keys.filter { $0.hasPrefix("drop") }.sorted()
            if let name = droppable.randomElement(using: &chance) { await app.remove(name) }
        case ..<66:
            try? await app.syncEngine.sendChanges()
        case ..<86:
            try? await app.syncEngine.fetchChanges()
        case ..<93:
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
    func settle() async throws { try await devices.settle(clock, roundsMax: 30) }

    /// No holes: what any device had is there. No doubles: each note is there once, in one zone, with one text on all devices.
    func judge() async throws {
        let zones = try await devices[0].database.allRecordZones().map(\.zoneID).filter { $0 != .default }
        #expect(zones == [Notebook.zone.zoneID])
        let held = try await devices[0].database.heldNotes()
        #expect(Set(held.values.map(\.edit)).count == held.count, "an edit is there twice")
        for (number, device) in devices.enumerated() {
            let notes = await device.app.notes
            // Of notes that some device deletes, an older version may come back (docs/backup.md).
            let odd = Set(notes.keys).union(held.keys).filter { $0.hasPrefix("keep") && notes[$0] != held[$0] }.sorted()
            #expect(odd.isEmpty, "device \(number): \(odd.map { ($0, notes[$0]?.edit, held[$0]?.edit) })")
        }
        for (name, edit) in stored { #expect(held[name]?.edit ?? -1 >= edit, "\(name)") }
        #expect(try await cloud.problems().isEmpty)
    }
}
