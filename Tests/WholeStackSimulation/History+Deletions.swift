import CloudKit
import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import Foundation
import OrderedStore

// A user whose account is deleted, and who comes back with another one of the same address.
extension History {
    /// The user: a guest of others, or an administrator of the share that changes; nil: no account is deleted.
    var deletedUser: String? {
        guard has(.deletedAccounts), seed.isMultiple(of: 2), !restoresCloud else { return nil }
        return seed.isMultiple(of: 4) || circleOwner == "ben" ? "cal" : "ben"
    }

    /// Deletes the account of a device's user as the operator does, once in a history, while all go on; some time later the user signs up
    /// again.
    func deleteAccount(of device: SimulatedDevice) async {
        guard mayChangeSecrets(device), let name = userNames.value[device.user.name],
            keysReset.value.insert(device.user.name).inserted
        else { return }
        let user = device.user
        let own = devices.filter { $0.user.name == user.name }
        own.first?.noteEndings()
        webClients.value[user.name] = nil
        subscribed.value[user.name] = nil
        let zones = [
            "Work", NotesApp.zone.zoneID.zoneName, "Temporary0", "Temporary1", CKRecordZone.ID.defaultZoneName,
        ]
        let endings = zones.map { beginEnding($0, of: user.name) }
        let loss = sharing?.begin(SharingLedger.loss, of: user.name, at: trail.time)
        deletedName.value = name
        for other in own {
            other.isSignedOut.value = true
            other.registered.value = .max
        }
        await untilDone("account of \(user.name)") { cloud in
            try await self.remove(user, from: cloud)
        }
        isDeleted.value = true
        rights.value[user.name] = nil
        for ending in endings { end(ending, .done) }
        if let loss { sharing?.end(loss, .done, at: trail.time) }
        trail.note("the account of \(user.name) is deleted")
        try? await Task.sleep(for: .milliseconds(chance.number(0..<20_000)))
        await untilDone("new account of \(user.name)") { cloud in
            try await Self.add(user, to: cloud.accountStore)
        }
        own.first?.noteEndings()
        trail.note("\(user.name) signs up again")
        for device in own { device.hasFormerUser.value = true }
        for other in chance.some(own.count, of: own) { await signIn(other) }
    }

    /// Lets the apps of a device forget what the user had whose account was deleted, once its new user has signed in: until then requests
    /// with the old session may be answered for some seconds.
    func forgetFormerUser(of device: SimulatedDevice) {
        guard device.hasFormerUser.value else { return }
        device.hasFormerUser.value = false
        device.feedDisks.value = [:]
        followed.value = followed.value.filter { $0.key.device != device.name }
        do {
            for (_, feed) in device.app?.feeds.value.sorted(by: { $0.key.rawValue < $1.key.rawValue }) ?? [] {
                try feed.forgetUser()
            }
        } catch {
            violated("\(device.name) cannot forget its user: \(error)")
        }
    }

    private func remove(_ user: SimulatedUser, from cloud: Cloud) async throws {
        let accounts = cloud.accountStore.accounts
        guard let account = try await accounts.account(email: user.email) else { return }
        try await accounts.setDisabled(true, email: user.email)
        // Servers remember sessions for some seconds.
        try await Task.sleep(for: .milliseconds(chance.number(0..<6000)))
        _ = try await RemoveAccountData(cloud).run(ofAccount: account.id)
        try await accounts.remove(email: user.email)
    }

    /// Repeats what fails while disks and servers do.
    func untilDone(_ what: String, _ body: (Cloud) async throws -> Void) async {
        for _ in 0..<100 {
            do {
                guard let cloud = cloud.cloud else { throw CancellationError() }
                return try await body(cloud)
            } catch {
                trail.note("\(what): \(error)")
                try? await Task.sleep(for: .seconds(2))
            }
        }
        violated("\(what): never done")
    }

    /// Gives a user who has come back what users have from the beginning, undisturbed.
    func welcomeBack() async throws {
        guard let user = deletedUser, !deletedName.value.isEmpty, subscribed.value[user] == nil,
            let device = devices.first(where: { $0.user.name == user }), let app = device.app
        else { return }
        userNames.value[user] = try await app.container.userRecordID().recordName
        try await subscribe(user, app.container)
        try await makeWebClient(of: device, app)
    }

    /// Whether a participant is an account that was deleted.
    func isDeleted(_ participant: CKShare.Participant) -> Bool {
        isDeleted.value && participant.userIdentity.userRecordID?.recordName == deletedName.value
    }

    /// Checks that nothing of the deleted account is left.
    func judgeDeletion() async throws {
        guard !deletedName.value.isEmpty, let cloud = cloud.cloud else { return }
        let (name, container) = (deletedName.value, ContainerID(SimulatedCloud.container))
        let partition = StoragePartition.privateDatabase(container, .development, of: UserID(name))
        // Behind the header, which stays.
        let rest = KeyRange(lower: DatabaseHeader.key + [0], upper: [0xFF])
        let left = try await cloud.store.read(partition) { try await $0.scan(rest, limit: .max) }
        if !left.isEmpty {
            violated("of the deleted account are left rows \(Set(left.map { $0.key[0] }).sorted())")
        }
        let publicPartition = StoragePartition.publicDatabase(container, .development)
        let subscriptions = try await cloud.store.read(publicPartition) { view in
            try await view.subscriptions(of: UserID(name), in: .public).count
        }
        if subscriptions > 0 { violated("\(subscriptions) subscriptions of the deleted account are left") }
        for (device, zoneID) in [(devices[0], club), (circleOwnersDevice, Self.circle)] {
            guard let app = device.app else { continue }
            let share = try await share(at: place(zoneID, of: device), in: app.container.privateCloudDatabase)
            for participant in share?.participants ?? []
            where isDeleted(participant) && participant.acceptanceStatus == .accepted {
                violated("the share of \(zoneID.zoneName) has the deleted account as a member")
            }
        }
    }
}
