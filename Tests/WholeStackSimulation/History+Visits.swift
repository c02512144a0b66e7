import CloudKit
import Foundation

// Another user who signs in on devices of others while their apps run.
extension History {
    /// The name of the user who visits the devices of others.
    static let visitor = "dora"
    /// A zone that this user alone has.
    private static let visitorsZone = CKRecordZone(zoneName: "Dora")
    /// The name of this user's only note.
    private static let visitorsNote = "dora"

    /// Makes the zones and the note of the user who visits others' devices.
    func prepareVisits() async throws {
        guard let database = visitor?.app?.container.privateCloudDatabase else { return }
        _ = try await database.modifyRecordZones(saving: [Self.visitorsZone, NotesApp.zone], deleting: [])
        let edit = ledger.makeStamp()
        let note = CKRecord(
            recordType: "Note",
            recordID: CKRecord.ID(recordName: Self.visitorsNote, zoneID: NotesApp.zone.zoneID))
        note["edit"] = edit
        note.encryptedValues["secret"] = "text \(edit)"
        try await database.save(note)
    }

    /// Lets another user sign in on a device for a while, in the midst of what its apps do.
    func visit(_ device: SimulatedDevice) async {
        // Notes that were written while nobody was signed in are for whom the engine sees first.
        guard let visitor, let app = device.app else { return }
        for notes in app.notesApps { guard await !notes.isSignedOut else { return } }
        device.isVisited.value = true
        // Steps of several calls would begin the later ones for the visitor.
        for _ in 0..<50 where device.steps.value > 0 { try? await Task.sleep(for: .milliseconds(200)) }
        guard device.steps.value == 0, !app.network.isGone else {
            device.isVisited.value = false
            return
        }
        var calls: [Task<Void, Never>] = []
        for place in places(of: device) where place.scope != .public && !mayEnd(place) && chance.percent(60) {
            let step = Step(history: self, device: device, app: app, place: place, chance: chance)
            let name = "v\(ledger.makeStamp())"
            calls.append(Task { await step.create(name) })
        }
        try? await Task.sleep(for: .milliseconds(chance.number(0..<300)))
        device.isSignedOut.value = true
        device.registered.value = .max
        if chance.percent(50) { await signOut(device) }
        do {
            try await device.signIn(visitor.user)
            trail.note("\(visitor.user.name) signs in on \(device.name)")
        } catch {
            trail.note("\(visitor.user.name) cannot sign in on \(device.name): \(error)")
        }
        try? await Task.sleep(for: .milliseconds(chance.number(10..<20_000)))
        await signIn(device)
        for call in calls { await call.value }
    }

    /// Checks that the visitor has what the visitor made, and no device of others has anything of it.
    func judgeVisits() async throws {
        guard let visitor, let database = visitor.app?.container.privateCloudDatabase else { return }
        let zones = try await database.allRecordZones().map(\.zoneID.zoneName).sorted()
        let expected = [Self.visitorsZone.zoneID, NotesApp.zone.zoneID, .default].map(\.zoneName).sorted()
        if zones != expected { violated("the visitor has zones of others: \(zones)") }
        if let diary = visitor.app?.diary?.container.privateCloudDatabase {
            // An app whose user has signed out makes the zone for the next one.
            for zone in try await diary.allRecordZones() where zone.zoneID != .default {
                let found = try await diary.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
                    .modificationResultsByID
                if zone.zoneID != NotesApp.zone.zoneID || !found.isEmpty {
                    violated("the visitor's diary has \(zone.zoneID.zoneName) with \(found.count) notes of others")
                }
            }
        }
        for (zone, names) in [(Self.visitorsZone, []), (NotesApp.zone, [Self.visitorsNote])] {
            let found = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
                .modificationResultsByID.keys.map(\.recordName).sorted()
            if found != names { violated("the visitor's zone \(zone.zoneID.zoneName) has \(found)") }
        }
        for type in ["Item", "Note"] {
            let query = CKQuery(recordType: type, predicate: NSPredicate(value: true))
            let found = try await database.records(matching: query, inZoneWith: .default).matchResults
            if !found.isEmpty { violated("the visitor has records of others: \(found.map(\.0.recordName).sorted())") }
        }
        for device in devices {
            if await device.app?.mirror.value?.zoneNames.contains(Self.visitorsZone.zoneID.zoneName) == true {
                violated("the engine of \(device.name) keeps a zone of the visitor")
            }
        }
    }
}
