import CloudKitModel
import CloudKitServer
import Foundation

// What the operator of the cloud does meanwhile.
extension History {
    /// The lifetimes of files, short enough that some end within a history.
    static var assetLifetimes: AssetLifetimes {
        var lifetimes = AssetLifetimes()
        lifetimes.begin = 60_000
        lifetimes.upload = 60_000
        lifetimes.receipt = 60_000
        lifetimes.grace = 5_000
        lifetimes.orphan = 120_000
        return lifetimes
    }

    /// The limits of the cloud.
    static func limits(_ seed: UInt64, _ chance: Chance) -> Limits {
        var limits = Limits()
        limits.recordNamesQueryable = true
        if Feature.operators.isIn(seed) { limits.assetLifetimes = assetLifetimes }
        if Feature.tightLimits.isIn(seed) {
            if chance.percent(75) { limits.pageItemsMax = chance.number(1..<9) }
            if chance.percent(25) { limits.answerBytesMax = chance.number(1_000..<20_000) }
            if chance.percent(25) { limits.skippedEntriesMax = chance.number(1..<9) }
            if chance.percent(25) { limits.requestBytesMax = chance.number(8_000..<12_000) }
            if chance.percent(50) {
                limits.turnEntriesMax = chance.number(1..<30)
                limits.turnBytesMax = chance.number(100..<3_000)
            }
        }
        return limits
    }

    /// Does one thing to the databases of a user, or to the files of all.
    func operate() async {
        guard let cloud = cloud.cloud, let device = chance.one(of: devices),
            let name = userNames.value[device.user.name]
        else { return }
        let (user, container) = (UserID(name), ContainerID(SimulatedCloud.container))
        var zones = ["Work", "Notes", "Temporary0", "Temporary1"]
        if device.user.name == "ada" { zones += ["Vault", "Club"] }
        if device.user.name == circleOwner { zones.append("Circle") }
        let zone = chance.one(of: zones) ?? "Work"
        let what: String
        do {
            switch chance.number(0..<(has(.endings) ? 8 : 4)) {
            case 0:
                what = "expired tokens of \(zone)"
                try await ExpireTokens(cloud).run(ofZone: zone, of: user, in: container, .development)
            case 1:
                what = "expired tokens of the database"
                try await ExpireTokens(cloud).run(ofDatabaseOf: user, in: container, .development)
            case 2:
                what = "forgotten deletions of \(zone)"
                let age = Int64(chance.number(0..<60_000))
                try await CompactFeeds(cloud).forgetDeletions(
                    before: cloud.serverEnvironment.now() - age, inZone: zone, of: user, in: container, .development)
            case 4, 5:
                var ending = ["Notes", "Notes", "Temporary0"]
                if device.user.name == "ada" { ending.append("Vault") }
                if device.user.name == circleOwner, !hasSecondShare { ending.append("Circle") }
                return await endZone(chance.one(of: ending) ?? "Notes", of: (device.user.name, user), cloud)
            case 6, 7: return try await orderFault(user, cloud)
            default:
                return await removeFiles()
            }
        } catch {
            // The zone is not there, or the disk failed.
            trail.note("operator: \(error)")
            return
        }
        trail.note("operator: \(what) of \(device.user.name)")
    }

    /// Removes the files that no record has.
    func removeFiles() async {
        guard has(.operators), let cloud = cloud.cloud else { return }
        do {
            var sweep = try await SweepAssets(cloud).runDrafts()
            for folder in UInt8.min...UInt8.max { sweep = try await sweep + SweepAssets(cloud).run(inFolder: folder) }
            trail.note("operator: \(sweep.files) files removed")
        } catch {
            trail.note("operator: \(error)")
        }
    }
}
