import CloudKit
import CloudKitModel
import CloudKitServer
import Foundation

// Zones that end and are made again, and requests that the cloud refuses.
extension History {
    /// The zones of one user that end now and then; the zone of the notes and those that come and go anyway do so for all users.
    static let endingZones = ["Vault", circle.zoneName]

    /// Whether a zone of a user's own may not be there.
    func mayEnd(_ place: Place) -> Bool {
        let name = place.zoneID.zoneName
        if has(.keyResets), place.owner == resettingUser, place.scope == .private, !place.isDefault { return true }
        if hasSecondShare, name == Self.circle.zoneName { return false }
        return has(.endings) && place.scope != .public
            && (Self.endingZones.contains(name) || name.hasPrefix("Temporary") || name == NotesApp.zone.zoneID.zoneName)
    }

    /// The attempts that the end of a zone makes: it deletes all records, and takes all rights.
    struct Ending {
        fileprivate var deletion: Int
        fileprivate var losses: [Int] = []
    }

    /// Notes the begin of an attempt to end a zone.
    func beginEnding(_ name: String, of owner: String) -> Ending {
        var ending = Ending(
            deletion: ledger.begin(
                deleting: { $0.owner == owner && ($0.zone == name || $0.zone == name + " share") }, at: trail.time))
        if name == Self.circle.zoneName, let sharing {
            ending.losses = sharing.guests.map { sharing.begin(SharingLedger.loss, of: $0, at: trail.time) }
        }
        return ending
    }

    /// Notes how an attempt to end a zone ended.
    func end(_ ending: Ending, _ outcome: Ledger.Outcome) {
        ledger.end(ending.deletion, outcome, at: trail.time)
        for loss in ending.losses { sharing?.end(loss, outcome, at: trail.time) }
    }

    /// Ends a zone as the operator does for a user: as if the user had removed the app's data, or had lost all keys.
    func endZone(_ name: String, of user: (short: String, id: UserID), _ cloud: Cloud) async {
        let endings =
            name == NotesApp.zone.zoneID.zoneName ? devices.first { $0.user.name == user.short }?.notesEndings : nil
        endings?.note()
        let ending = beginEnding(name, of: user.short)
        let container = ContainerID(SimulatedCloud.container)
        let isPurge = chance.percent(50)
        do {
            if isPurge {
                try await EndZone(cloud).purge(name, of: user.id, in: container, .development)
            } else {
                try await EndZone(cloud).resetKeys(ofZone: name, of: user.id, in: container, .development)
            }
            end(ending, .done)
        } catch {
            end(ending, error is RequestFailure ? .refused : .unknown)
            trail.note("operator: \(error)")
        }
        endings?.note()
        trail.note("operator: \(isPurge ? "purged" : "reset the keys of") \(name) of \(user.short)")
    }

    /// Orders a fault for a user, or for all.
    func orderFault(_ user: UserID, _ cloud: Cloud) async throws {
        let kind = chance.one(of: [Fault.Kind.throttle, .unavailable, .quota]) ?? .throttle
        let seconds = Double(chance.number(1..<(kind == .quota ? 120 : 20)))
        _ = try await cloud.faults.order(
            kind, in: ContainerID(SimulatedCloud.container), for: chance.percent(70) ? user : nil, seconds: seconds,
            bytes: kind == .quota ? 1 : nil, sendsRetryAfter: chance.percent(50))
        trail.note("operator: \(kind) for \(seconds) s")
    }

    /// Ends all faults.
    func removeFaults() async {
        guard has(.endings), let cloud = cloud.cloud else { return }
        do {
            _ = try await cloud.faults.removeAll()
        } catch {
            violated("faults cannot be removed: \(error)")
        }
    }

    /// Makes zones again that have ended.
    func reopenZones() async throws {
        guard has(.endings) else { return }
        for endings in devices.compactMap(\.notesEndings) where endings.isAskedFor.value {
            endings.isAskedFor.value = false
            endings.note()
        }
        for device in devices where device.name.hasSuffix("-1") {
            guard let app = device.app else { continue }
            for place in places(of: device) where mayEnd(place) {
                await Step(history: self, device: device, app: app, place: place, chance: chance).reopen()
            }
        }
    }
}

extension Step {
    /// Deletes the zone with all that it has.
    func endZone() async {
        let ending = history.beginEnding(place.zoneID.zoneName, of: device.user.name)
        do {
            try await database.deleteRecordZone(withID: place.zoneID)
            guard !app.network.isGone else { return }
            history.end(ending, .done)
        } catch {
            guard !app.network.isGone else { return }
            history.end(ending, history.outcome(.failure(error)))
            history.expect(error, of: "zone", at: place)
        }
    }

    /// Makes the zone again, and the root of its tree.
    func reopen() async {
        let zone = CKRecordZone(zoneID: place.zoneID)
        zone.encryptionScope = history.encryptionScope(of: place.zoneID)
        do {
            try await database.save(zone)
            if let root = place.root { try await database.save(CKRecord(recordType: "Item", recordID: root)) }
        } catch let error as CKError where error.code == .serverRecordChanged {
            // Another device has made the root.
        } catch {
            history.expect(error, of: "zone", at: place)
        }
    }
}
