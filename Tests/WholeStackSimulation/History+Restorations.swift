import CloudKit
import CloudKitAccounts
import CloudKitServer
import Foundation

/// A backup of the cloud, with what users knew then.
struct Backup: Sendable {
    fileprivate let cloud: SimulatedCloud.Backup
    fileprivate let hasCircleZoneKeys: Bool
    fileprivate let passwords: [String: [String]]
    fileprivate let recoveryWords: [String: [String]]
}

/// How far the restoration of a cloud has come.
enum Restoration {
    case none
    /// Devices meet the earlier state, which no user has accepted.
    case open
    case accepted
}

// A cloud that is restored from a backup while devices use it: what was acknowledged since is lost, unless an engine has it.
extension History {
    /// Whether the cloud is restored in this history.
    var restoresCloud: Bool { has(.restorations) && seed.isMultiple(of: 3) }

    /// What devices may meet in a restored cloud until their users have accepted its state.
    static let ofRestorations: Set<CKError.Code> = [
        .internalError, .changeTokenExpired, .zoneNotFound, .userDeletedZone, .unknownItem, .permissionFailure,
        .referenceViolation, .invalidArguments, .assetNotAvailable, .serverRecordChanged,
        .participantMayNeedVerification,
    ]

    /// Takes a backup of the cloud.
    func backUp() {
        let users = Dictionary(devices.map { ($0.user.name, $0.user) }) { first, _ in first }
        backup.value = Backup(
            cloud: cloud.backUp(), hasCircleZoneKeys: hasCircleZoneKeys.value,
            passwords: users.mapValues(\.passwords.value), recoveryWords: users.mapValues(\.recoveryWords.value))
        trail.note("operator: backup")
    }

    /// Restores the cloud to the backup; nothing happens without one.
    func restore() async {
        guard let backup = backup.value else { return }
        do {
            try await cloud.restore(backup.cloud, isTimeKnown: !seed.isMultiple(of: 2))
        } catch {
            return violated("the cloud cannot be restored: \(error)")
        }
        restoration.value = .open
        ledger.restored(at: trail.time)
        sharing?.restored(at: trail.time)
        hasCircleZoneKeys.value = backup.hasCircleZoneKeys
        for user in Set(devices.map(\.user.name)).sorted() {
            // A device that was lost since may have been the only one with an edit.
            notesEnded.value[user] = ledger.makeStamp()
            diaryEnded.value[user] = notesEnded.value[user]
            webClients.value[user] = nil
            disabled.value.insert(user)
        }
        for device in devices {
            let user = device.user
            user.passwords.value = Self.union(user.passwords.value, backup.passwords[user.name] ?? [])
            user.recoveryWords.value = Self.union(user.recoveryWords.value, backup.recoveryWords[user.name] ?? [])
            device.registered.value = .max
        }
        trail.note("operator: restored")
        cloud.start()
    }

    private static func union(_ values: [String], _ more: [String]) -> [String] {
        values + more.filter { !values.contains($0) }
    }

    /// Notices that the restored cloud does not know the session of a device, as its user does, who then signs in again.
    func noticeLostSession(of device: SimulatedDevice) async throws {
        guard restoration.value == .open, !device.isSignedOut.value, !device.isLost.value, let session = device.session,
            let accounts = cloud.cloud?.accountStore,
            let account = try await accounts.accounts.account(email: device.user.email)
        else { return }
        let known = try await accounts.sessions.sessions(ofAccount: account.id).contains { $0.id == session }
        if known { return }
        trail.note("\(device.name) has lost its session")
        device.isSignedOut.value = true
    }

    /// Lets all users accept the state of a restored cloud.
    func acceptRestoration() async throws {
        guard restoration.value == .open else { return }
        for device in chance.some(devices.count, of: devices) {
            guard let app = device.app else { continue }
            // Others go on in the state that they have not accepted.
            try? await Task.sleep(for: .milliseconds(chance.number(0..<30_000)))
            // The device meets the cloud.
            _ = try? await app.container.privateCloudDatabase.allRecordZones()
            try device.acceptRestorations()
            guard chance.percent(50) else { continue }
            await act(device, chance)
            if sharing != nil { await actInCircle(device, chance) }
        }
        if let observer, let app = observer.app {
            _ = try? await app.container.sharedCloudDatabase.allRecordZones()
            try observer.acceptRestorations()
        }
        if has(.longLivedOperations) {
            // What a device has seen that accepted last is an error on others until keys have followed.
            for device in devices {
                for notes in device.app?.notesApps ?? [] { try? await notes.sync() }
                try? await device.app?.mirror.value?.sync()
            }
        }
        restoration.value = .accepted
        trail.note("the restoration is accepted")
        forgetGrown()
    }

    /// Gives users of a restored cloud what they have from the beginning.
    func equipAgain() async throws {
        guard restoration.value == .accepted, webClients.value.isEmpty else { return }
        for device in devices where device.name.hasSuffix("-1") {
            guard let app = device.app else { continue }
            try await subscribe(device.user.name, app.container)
            try await makeWebClient(of: device, app)
        }
    }
}
