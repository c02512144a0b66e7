import CDeterministicProcess
import CloudKit
import CloudKitAccounts
import CloudKitServer
import Foundation

// A long time in which the cloud and all devices are off, and devices that come back later than others.
extension History {
    /// Turns everything off for hours to more than a year; some devices stay off until the next round has ended.
    func beAway() async throws {
        guard has(.absences), !seed.isMultiple(of: 4) else { return }
        let hours = chance.one(of: [5, 30, 20 * 24, 100 * 24, 300 * 24, 400 * 24]) ?? 5
        func outlives(_ lifetime: SessionLifetime) -> Bool { Int64(hours) * 3600_000 > lifetime.milliseconds }
        trail.note("away for \(hours) hours")
        for device in devices + others {
            if has(.lostPower), chance.percent(30) { device.losePower() } else { device.crash() }
            device.registered.value = .max
        }
        cloud.shutDown()
        // Apps that have ended go on to look whether they are signed in: not all the time.
        deterministic_suspend(Int64(hours) * 3600_000_000_000)
        try await Task.sleep(for: .seconds(10))
        cloud.start()
        for device in others {
            try device.boot()
            if outlives(.device) { try await device.signIn() }
        }
        if chance.percent(70) { try await keepHouse() }
        if outlives(.persistent) { webClients.value = [:] }
        for device in chance.some(devices.count, of: devices) {
            if outlives(.device) { device.isSignedOut.value = true }
            if chance.percent(40) { continue }
            _ = await start(device)
            await signIn(device)
            guard device.name.hasSuffix("-1"), webClients.value[device.user.name] == nil, let app = device.app else {
                continue
            }
            try await makeWebClient(of: device, app)
        }
    }

    /// Does what the cloud does once a day.
    private func keepHouse() async throws {
        guard let cloud = cloud.cloud else { return }
        let kept = Int64(chance.one(of: [0, 1, 30]) ?? 30) * 86_400_000
        for database in try await CompactFeeds(cloud).databases(after: nil, limit: .max) {
            _ = try await CompactFeeds(cloud).run(of: database, before: cloud.serverEnvironment.now() - kept)
        }
        trail.note("deletions of \(kept) ms are kept")
        await removeFiles()
    }
}
