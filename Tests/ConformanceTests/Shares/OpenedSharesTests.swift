import CloudKitDevice
import Foundation
import Testing

@testable import CloudKit

/// Links that users open outside of the app.
@Suite(.timeLimit(.minutes(20))) struct OpenedSharesTests {
    @Test func `B-ACP-01 opening a link passes it to the app, which accepts`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            let ben = try await home.device(of: "ben")
            let linked = try await ben.signIn.linkedShare(try #require(share.url?.absoluteString))
            try ben.signIn.deliver(linked)
            let metadata = try #require(await ben.container.takeOpenedShares().first)
            #expect(metadata.participantStatus == .pending)
            #expect(try await ben.container.sharedCloudDatabase.allRecordZones().isEmpty)
            try await ben.container.accept(metadata)
            #expect(try await ben.container.sharedCloudDatabase.allRecordZones().count == 1)
            // A link opened again: the app receives the current state.
            try ben.signIn.deliver(try await ben.signIn.linkedShare(linked.link))
            #expect(await ben.container.takeOpenedShares().map(\.participantStatus) == [.accepted])
        }
    }

    @Test func `B-ACP-01 a user without an app accepts on the device, and an app installed later receives the link`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            let ben = try await home.device(of: "ben")
            let link = try #require(share.url?.absoluteString)
            let linked = try await ben.signIn.linkedShare(link)
            #expect(linked.title == "Our recipes")
            #expect(linked.container == home.cloud.container)
            #expect(linked.permission == "READ_WRITE")
            #expect(!linked.isAccepted)
            #expect(await ben.container.takeOpenedShares().isEmpty)
            try await ben.signIn.accept(linked)
            let opened = await ben.container.takeOpenedShares()
            #expect(opened.count == 1)
            #expect(opened.first?.participantStatus == .accepted)
            #expect(await ben.container.takeOpenedShares().isEmpty)
            let theirs = try await home.shared(zone)
            #expect(try await ben.container.sharedCloudDatabase.allRecordZones().map(\.zoneID) == [theirs])
        }
    }

    @Test func `B-ACP-02 a link that leads nowhere, elsewhere or is for other users is reported`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            let cat = try await home.device(of: "cat")
            await #expect(throws: LinkError.notALink("hello")) { try await cat.signIn.linkedShare("hello") }
            await #expect(throws: LinkError.otherCloud("https://cloud.example.com")) {
                try await cat.signIn.linkedShare("https://cloud.example.com/share/abc")
            }
            await #expect(throws: LinkError.unknown) {
                try await cat.signIn.linkedShare(home.cloud.endpoint + "/share/abc")
            }
            let link = try #require(share.url?.absoluteString)
            await #expect(throws: LinkError.unknown) { try await cat.signIn.linkedShare(link) }
        }
    }
}
