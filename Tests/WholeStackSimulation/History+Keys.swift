import CloudKit
import Foundation

// A user who replaces the account's keys, so that what the old ones sealed is lost.
extension History {
    /// The user who does so: a guest of others, or also the owner or an administrator of the share that changes; where an account is deleted, its
    /// user does not.
    var resettingUser: String { deletedUser ?? (has(.ownerResets) && !seed.isMultiple(of: 3) ? "ben" : "cal") }

    /// Replaces the keys of a device's user, once in a history, while the user's other device goes on.
    func resetKeys(on device: SimulatedDevice) async {
        guard mayChangeSecrets(device), keysReset.value.insert(device.user.name).inserted else { return }
        let own = devices.filter { $0.user.name == device.user.name }
        own.first?.noteEndings()
        var zones = ["Work", NotesApp.zone.zoneID.zoneName, "Temporary0", "Temporary1"]
        if device.user.name == circleOwner { zones.append(Self.circle.zoneName) }
        let endings = zones.map { beginEnding($0, of: device.user.name) }
        for other in own { other.isSignedOut.value = true }
        do {
            try await device.resetKeys()
            trail.note("\(device.name) replaced the account's keys")
        } catch {
            trail.note("\(device.name) did not replace the account's keys: \(error)")
        }
        // Zones in which nothing is sealed stay.
        for ending in endings { end(ending, .unknown) }
        own.first?.noteEndings()
        for other in chance.some(own.count, of: own) {
            try? await Task.sleep(for: .milliseconds(chance.number(0..<10_000)))
            other.registered.value = .max
            await signIn(other)
        }
        if chance.percent(50) { await trustResetKeys() }
    }

    /// Whether records of a place may have values that no key opens any more.
    func mayHaveLostKeys(_ place: Place) -> Bool {
        place.isDefault && place.scope == .private && keysReset.value.contains(place.owner)
    }

    /// Returns a record with its plain fields; nil: it is gone.
    func plainRecord(_ id: CKRecord.ID, in database: CKDatabase) async throws -> CKRecord? {
        let results = try await database.records(for: [id], desiredKeys: Content.keys + ["stamp"])
        do {
            return try results[id]?.get()
        } catch let error as CKError where error.code == .unknownItem {
            return nil
        }
    }

    /// Lets all others trust the keys of the user who replaced them, and the hosts of shares give that user the shares' keys.
    func trustResetKeys() async {
        guard let user = devices.first(where: { keysReset.value.contains($0.user.name) })?.user else { return }
        for device in devices where device.user.name != user.name && !device.isVisited.value {
            do {
                try await device.trust(user)
            } catch {
                trail.note("\(device.name) cannot trust the keys of \(user.name): \(error)")
            }
        }
        // Who came by a link has to prove it for the new keys.
        if let sharing, sharing.owner != user.name, sharing.isPublic || sharing.oneTimeGuest == user.name,
            let device = devices.first(where: { $0.user.name == user.name }), let app = device.app,
            let place = circle(of: device)
        {
            await Step(history: self, device: device, app: app, place: place, chance: chance).acceptAgain()
        }
        for (device, zoneID) in [(devices[0], club), (circleOwnersDevice, Self.circle)] {
            guard let app = device.app else { continue }
            let place = place(zoneID, of: device)
            do {
                _ = try await share(at: place, in: app.container.privateCloudDatabase)
            } catch {
                expect(error, of: "share", at: place)
            }
        }
    }
}
