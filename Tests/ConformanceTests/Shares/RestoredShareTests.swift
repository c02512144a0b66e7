import CloudKitDevice
import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient
@testable import CloudKitTesting

/// Shares in a cloud that was restored from a backup: what was changed about them since is lost, and devices have seen it.
@Suite(.timeLimit(.minutes(20))) struct RestoredShareTests {
    /// What is lost.
    enum Change: CaseIterable {
        case removal, end, invitation, permission
    }

    /// Makes a shared folder, loses a change of its share, and runs a body with the members of the earlier state.
    private func run(
        losing change: Change,
        _ body: (SharingHousehold, _ share: CKShare, _ members: [CKDatabase], _ lostEpoch: Int) async throws -> Void
    ) async throws {
        try await RestorableCloud.run { cloud in
            let home = try await SharingHousehold(cloud.present, over: cloud.network())
            let (zone, folder, _) = try await home.makeFolder()
            let ada = home.ada.privateCloudDatabase
            var share = try await home.share(folder, with: change == .invitation ? ["ben"] : ["ben", "cat"])
            try await home.accept(share.url, on: home.ben)
            if change != .invitation { try await home.accept(share.url, on: home.cat) }
            let theirs = try await home.shared(zone)
            let moment = try await cloud.backUp()
            // The end of a share raises its zone's epoch to this one.
            var lostEpoch = try await epoch(of: share, home) ?? 0
            switch change {
            case .removal: try await home.remove("ben", from: share.recordID, by: home.ada)
            case .end: try await ada.deleteRecord(withID: share.recordID)
            case .invitation:
                share = try asShare(try await ada.record(for: share.recordID))
                try await home.invite(["cat"], to: share)
                share = try asShare(try await ada.save(share))
                try await home.accept(share.url, on: home.cat)
            case .permission: try await home.permit("ben", .readOnly, in: share.recordID)
            }
            try await write("lost", to: "One", in: zone, ada)
            if change != .end {
                #expect(try await secret("One", in: theirs, home.cat.sharedCloudDatabase) == "lost")
            }
            if change != .end { lostEpoch = try await epoch(of: share, home) ?? 0 }
            try await cloud.restore(moment)
            let members = [home.ben, change == .invitation ? nil : home.cat].compactMap(\.?.sharedCloudDatabase)
            try await body(home, share, members, lostEpoch)
        }
    }

    /// The newest key epoch of a share; nil: there is no share.
    private func epoch(of share: CKShare, _ home: SharingHousehold) async throws -> Int? {
        let id = share.recordID
        return try await home.ada.privateCloudDatabase.requests()
            .looked(at: [id.recordName], in: id.zoneID.model).first?.sharing?.keys?.epoch
    }

    @Test(arguments: Change.allCases)
    func `B-TM-15 an earlier state of a share is an error until the user accepts it, and counts for all devices then`(
        _ change: Change
    ) async throws {
        try await run(losing: change) { home, share, members, lostEpoch in
            let (ada, zone) = (home.ada.privateCloudDatabase, share.recordID.zoneID)
            let theirs = try await home.shared(zone)
            let profile = home.signedIn.ada.configuration.deviceProfile
            let endpoint = home.signedIn.ada.configuration.endpoint
            let error = await #expect(throws: CKError.self) {
                _ = try await ada.record(for: share.recordID)
                // A share that had ended is one that this device has not seen.
                try await write("refused", to: "Two", in: zone, ada)
            }
            #expect(error?.code == .internalError)
            #expect(error?.localizedDescription.contains("says that it was restored") == true)
            if change == .end || change == .removal {
                // The zone's keys are of an earlier epoch, too.
                let error = await #expect(throws: CKError.self) { try await ada.recordZone(for: zone) }
                #expect(
                    error?.localizedDescription.contains("Zone 'Notes': the cloud says that it was restored") == true)
            }
            let claim = try #require(try profile.restorations().clouds[endpoint]?.claims.last)
            let name = "Notes/\(share.recordID.recordName)"
            let older: Set<String> =
                switch change {
                case .removal: [name, "Notes"]
                case .end: ["Notes"]
                case .invitation, .permission: [name]
                }
            #expect(Set(claim.older) == older)
            try profile.acceptRestorations(of: endpoint)

            // The owner's next look begins keys that nobody has of the lost state.
            let held = try asShare(try await ada.record(for: share.recordID))
            #expect(held.participants.count == members.count + 1)
            #expect(try await epoch(of: share, home) ?? 0 > lostEpoch)
            try await write("newer", to: "Two", in: zone, ada)
            for member in members { #expect(try await secret("Two", in: theirs, member) == "newer") }
            try await write("ben's", to: "Two", in: theirs, home.ben.sharedCloudDatabase)
            #expect(try await secret("Two", in: zone, ada) == "ben's")

            // What was lost can be done again.
            if change == .invitation {
                let current = try asShare(try await ada.record(for: share.recordID))
                try await home.invite(["cat"], to: current)
                try await home.accept(try asShare(try await ada.save(current)).url, on: home.cat)
            }
            try await home.remove("ben", from: share.recordID, by: home.ada)
            try await write("newest", to: "Two", in: zone, ada)
            #expect(try await secret("Two", in: theirs, home.cat.sharedCloudDatabase) == "newest")
            await #expect(throws: CKError.self) { try await secret("Two", in: theirs, home.ben.sharedCloudDatabase) }
        }
    }

    @Test func `B-TM-15 an earlier directory of identities stops sharing until the user accepts it`() async throws {
        try await RestorableCloud.run { cloud in
            let home = try await SharingHousehold(cloud.present, over: cloud.network())
            let (zone, folder, _) = try await home.makeFolder()
            let (ada, theirs) = (home.ada.privateCloudDatabase, try await home.shared(zone))
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let moment = try await cloud.backUp()
            // A head of the directory that this device sees, and that is lost.
            let lost = try await SharingHousehold.newcomer("lost", cloud.present, over: cloud.network())
            _ = try await home.ada.shareParticipant(forEmailAddress: "lost@example.com")
            var held = try asShare(try await ada.record(for: share.recordID))
            try await home.invite(["lost"], to: held)
            try await ada.save(held)
            try await cloud.restore(moment)
            let dan = try await SharingHousehold.newcomer("dan", cloud.present, over: cloud.network())
            let configuration = home.signedIn.ada.configuration
            // An app that begins looks at the account's own entry, and goes on with its own data.
            let restarted = CKContainer(
                configuration: configuration, transport: cloud.network(), clientEnvironment: .system)
            let feed = try await restarted.privateCloudDatabase.recordZoneChanges(inZoneWith: zone, since: nil)
            #expect(try feed.modificationResultsByID[folder.recordID]?.get() != nil)
            let claims = try configuration.deviceProfile.restorations().clouds[configuration.endpoint]?.claims
            #expect(claims?.last?.older.contains("directory of identities") == true)
            // Others could not find the lost head.
            #expect(try await restarted.privateCloudDatabase.requests().headForStatement() == nil)
            try configuration.deviceProfile.acceptRestorations(of: configuration.endpoint)
            held = try asShare(try await ada.record(for: share.recordID))
            try await home.invite(["dan"], to: held)
            held = try asShare(try await ada.save(held))
            try await home.accept(held.url, on: dan.container)
            #expect(try await secret("One", in: theirs, dan.container.sharedCloudDatabase) == "secret of One")
            #expect(try await secret("One", in: theirs, home.ben.sharedCloudDatabase) == "secret of One")
            withExtendedLifetime((lost, dan)) {}
        }
    }

    @Test func `B-BKD-13 users whose keys or accounts are of after the moment begin again on the same devices`()
        async throws
    {
        try await RestorableCloud.run { cloud in
            let network = cloud.network()
            let home = try await SharingHousehold(cloud.present, over: network)
            let (zone, folder, _) = try await home.makeFolder()
            let (ada, theirs) = (home.ada.privateCloudDatabase, try await home.shared(zone))
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let moment = try await cloud.backUp()
            let dan = try await SharingHousehold.newcomer("dan", cloud.present, over: network)
            let phone = home.signedIn.ada
            _ = try await phone.reset(SharingHousehold.password)
            await #expect(throws: CKError.self) { try await secret("One", in: zone, ada) }
            try await cloud.restore(moment)

            // The device's session went with the reset; the keys of before are those of the restored account.
            let container = cloud.present.container
            let keys = try await phone.signIn(over: network).signIn(
                email: "ada@example.com", password: SharingHousehold.password, deviceName: "ada", container: container
            ).keys
            #expect(keys == .opened)
            try await write("newer", to: "One", in: zone, ada)
            #expect(try await secret("One", in: theirs, home.ben.sharedCloudDatabase) == "newer")

            let again = dan.signIn(over: network)
            try await again.signUp(
                email: "dan@example.com", name: "", password: SharingHousehold.password, container: container)
            _ = try await again.signIn(
                email: "dan@example.com", password: SharingHousehold.password, deviceName: "dan", container: container)
            let held = try asShare(try await ada.record(for: share.recordID))
            try await home.invite(["dan"], to: held)
            try await home.accept(try asShare(try await ada.save(held)).url, on: dan.container)
            #expect(try await secret("One", in: theirs, dan.container.sharedCloudDatabase) == "newer")
        }
    }
}
