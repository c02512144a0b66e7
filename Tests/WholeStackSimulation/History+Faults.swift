import CloudKit
import CloudKitModel
import CloudKitServer
import Foundation

// The course of a round, and what goes wrong in it.
extension History {
    /// A task of a device's app.
    private struct Work: Sendable {
        let device: SimulatedDevice
        let life: Int
        let isOver = Shared(false)

        /// Whether its end is still to be waited for.
        var isUnderWay: Bool { !isOver.value && device.app?.life == life }
    }

    /// Lets all devices do things at once, while networks, disk, cloud and devices fail.
    func pass(_ round: Int) async {
        trail.note("round \(round)")
        isPassing.value = true
        defer { isPassing.value = false }
        disk.isTroubled.value = true
        let works = Shared<[Work]>([])
        let next = Shared(UInt64(1000 * (round + 1)))
        func work(_ device: SimulatedDevice, _ count: Int, inCircle: Bool = false) {
            guard let app = device.app else { return }
            for _ in 0..<count {
                next.value += 1
                let work = Work(device: device, life: app.life)
                let chance = Chance(seed: seed, subject: next.value)
                works.value.append(work)
                Task {
                    if inCircle { await self.actInCircle(device, chance) } else { await self.act(device, chance) }
                    work.isOver.value = true
                }
            }
        }
        for device in devices { work(device, 2) }
        if sharing != nil {
            for device in devices { work(device, 1, inCircle: true) }
        }
        let deadline = trail.time + 3600_000_000
        var hasTrouble = true
        while works.value.contains(where: \.isUnderWay) || hasTrouble {
            try? await Task.sleep(for: .milliseconds(chance.number(100..<3000)))
            hasTrouble = works.value.contains(where: \.isUnderWay) && trail.time < deadline - 3000_000_000
            while restarting.value > 0 { try? await Task.sleep(for: .milliseconds(50)) }
            isMakingTrouble.value = true
            defer { isMakingTrouble.value = false }
            if hasTrouble, let device = await makeTrouble() {
                work(device, 1)
                if sharing != nil { work(device, 1, inCircle: true) }
            }
            guard trail.time < deadline else {
                let names = works.value.filter(\.isUnderWay).map(\.device.name)
                return violated("calls of \(names) never ended")
            }
        }
    }

    /// Makes one thing go wrong, or well again.
    ///
    /// - Returns: A device that has started again.
    private func makeTrouble() async -> SimulatedDevice? {
        guard let device = chance.one(of: devices) else { return nil }
        if has(.fullDisks), chance.percent(15) {
            device.fillDisk(!device.isDiskFull.value && chance.percent(70))
            return nil
        }
        if has(.deviceBackups), chance.percent(20) {
            return await useBackup(of: device) ? device : nil
        }
        if restoresCloud, restoration.value == .none, chance.percent(25) {
            if backup.value == nil { backUp() } else { await restore() }
            return nil
        }
        if has(.disabledAccounts), chance.percent(disabled.value.isEmpty ? 15 : 25) {
            if disabled.value.isEmpty { await disableAccount(of: device.user) } else { await enableAccounts() }
            return nil
        }
        if has(.keyRequests), !restoresCloud, !device.user.hasOperatorsPassword.value, chance.percent(8) {
            return await replaceWithoutKeys(device) ? device : nil
        }
        if has(.newDevices), chance.percent(6) {
            guard !device.user.hasOperatorsPassword.value else { return nil }
            return await replace(device, recovers: has(.passwords) && chance.percent(40)) ? device : nil
        }
        if has(.keyResets), device.user.name == resettingUser, chance.percent(35) {
            if deletedUser == nil { await resetKeys(on: device) } else { await deleteAccount(of: device) }
            return nil
        }
        if has(.passwords), chance.percent(8) {
            await changeSecrets(on: device)
            return nil
        }
        if has(.sessions), chance.percent(10) {
            await endSession(of: device)
            return nil
        }
        if has(.operators), chance.percent(has(.endings) ? 40 : 25) {
            await operate()
            return nil
        }
        switch chance.number(0..<100) {
        case ..<35:
            var condition = SimulatedNetwork.Condition()
            switch chance.number(0..<6) {
            case 0: condition.isDown = true
            case 1: condition.losesRequest = 30
            case 2: condition.losesAnswer = 30
            case 3: condition.delaysLong = 30
            case 4: condition.repeats = repeats ? 30 : 0
            default: break
            }
            device.condition.value = condition
        case ..<55:
            var faults = Disk.Faults()
            switch chance.number(0..<5) {
            case 0: faults.read = 10
            case 1: faults.commit = 20
            case 2: faults.unknownFate = repeats ? 20 : 0
            default: break
            }
            disk.faults.value = faults
        case ..<68:
            cloud.crash()
            try? await Task.sleep(for: .milliseconds(chance.number(10..<5000)))
            cloud.start()
        case ..<85:
            if has(.lostPower), chance.percent(70) { device.losePower() } else { device.crash() }
            try? await Task.sleep(for: .milliseconds(chance.number(10..<5000)))
            guard await start(device) else { return nil }
            return device
        case ..<93:
            guard let cloud = cloud.cloud else { return nil }
            let container = ContainerID(SimulatedCloud.container)
            let end = (try? await DeploySchema(cloud).run(of: container, force: true)) == nil ? "failed" : "done"
            trail.note("deployment \(end)")
        default: break
        }
        return nil
    }

    /// Gives a user a new device, as soon as the cloud answers.
    ///
    /// - Parameter recovers: Whether the user first tries the recovery words.
    func replace(_ device: SimulatedDevice, recovers: Bool) async -> Bool {
        for attempt in 0..<20 {
            do {
                try await device.replace(
                    settingPassword: recovers && attempt == 0 ? newPassword(of: device.user) : nil)
                return await start(device)
            } catch {
                trail.note("\(device.name) cannot sign in: \(error)")
                try? await Task.sleep(for: .seconds(pause(after: error)))
            }
        }
        return false
    }

    /// Takes backups of all devices, or puts a device back to the one that there is, so that it knows less than before.
    ///
    /// - Returns: Whether the device has started again.
    private func useBackup(of device: SimulatedDevice) async -> Bool {
        guard restoration.value != .open else { return false }
        // What users have confirmed on the devices.
        let circumstances = keysReset.value.sorted() + ["\(restoration.value)", deletedName.value]
        do {
            if try device.goBack(circumstances) { return await start(device) }
            for device in devices { try device.backUp(circumstances) }
        } catch {
            trail.note("\(device.name) has no backup: \(error)")
        }
        return false
    }

    /// Starts a device that is off.
    ///
    /// - Returns: Whether it runs.
    func start(_ device: SimulatedDevice) async -> Bool {
        if has(.longLivedOperations), device.app != nil { return false }
        if device.isLost.value {
            return await replace(
                device, recovers: has(.passwords) && !device.user.hasOperatorsPassword.value && chance.percent(40))
        }
        do {
            try device.boot()
            try await startApps(of: device)
            return true
        } catch {
            violated("\(device.name) does not start: \(error)")
            return false
        }
    }

    /// Expects that all devices are notified from now on.
    private func expectNotifications() {
        for device in devices where device.registered.value == .max { device.registered.value = trail.time }
    }

    /// Ends all trouble and waits until the devices have come to rest.
    func heal() async throws {
        trail.note("heal")
        disk.faults.value = Disk.Faults()
        if restoration.value == .none, chance.percent(70) { await restore() }
        cloud.start()
        await removeFaults()
        if has(.disabledAccounts) {
            await enableAccounts()
            // A device asks every two minutes whether its account is usable again.
            try? await Task.sleep(for: .seconds(130))
        }
        for device in devices {
            device.condition.value = SimulatedNetwork.Condition()
            device.fillDisk(false)
            if device.app == nil { _ = await start(device) }
            try await noticeLostSession(of: device)
            await signIn(device)
        }
        for device in others {
            try await noticeLostSession(of: device)
            await signIn(device)
        }
        await settleKeyRequests()
        try await awaitResumedOperations()
        // Pauses that the cloud asked for, long polls, the outbox.
        try? await Task.sleep(for: .seconds(100))
        try await acceptRestoration()
        await trustResetKeys()
        if !has(.disabledAccounts) { expectNotifications() }
        await removeFiles()
        try await reopenZones()
        try await welcomeBack()
        try await equipAgain()
        for _ in 0..<30 {
            var isQuiet = true
            let begun = ledger.count
            // Who knows of the restoration looks who takes part.
            if restoration.value == .accepted { for device in devices { try device.confirmParticipants() } }
            for device in devices {
                guard let app = device.app else { continue }
                let mirror = app.mirror.value
                for notes in app.notesApps where await notes.hasPending { isQuiet = false }
                if await mirror?.hasPending == true { isQuiet = false }
                do {
                    for notes in app.notesApps { try await notes.sync() }
                    try await mirror?.sync()
                } catch {
                    isQuiet = false
                }
                for feed in app.feeds.value.sorted(by: { $0.key.rawValue < $1.key.rawValue }).map(\.value)
                where await !feed.sync(pageMax: nil) {
                    isQuiet = false
                }
            }
            try? await Task.sleep(for: .seconds(20))
            // An engine that met a conflict has saved again, and others have to hear of it.
            guard isQuiet, ledger.count == begun else { continue }
            // A device that could not register tries again within a minute.
            if has(.disabledAccounts) { try? await Task.sleep(for: .seconds(60)) }
            return expectNotifications()
        }
        for device in devices {
            for notes in device.app?.notesApps ?? [] where await notes.hasPending {
                violated("\(device.name) does not come to rest: \(await notes.failures.map { "\($0)" }.sorted())")
            }
            if await device.app?.mirror.value?.hasPending == true {
                violated("the engine of \(device.name) does not come to rest")
            }
        }
    }
}
