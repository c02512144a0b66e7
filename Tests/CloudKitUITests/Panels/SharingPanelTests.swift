import CloudKit
import CloudKitTesting
import Foundation
import Synchronization
import Testing

@testable import CloudKitUI

/// Each action of a panel, against a cloud with several users.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct SharingPanelTests {
    /// A panel of Ada's share.
    private func withPanel(
        _ options: PanelOptions = PanelOptions(), _ prepare: @escaping @Sendable (CKShare) -> Void = { _ in },
        _ body: @MainActor (ShoppingHousehold, SharingPanel, RecordingClient) async throws -> Void
    ) async throws {
        try await ShoppingHousehold.run { home in
            let share = try await home.makeShare("List", prepare)
            let client = RecordingClient()
            try await body(home, SharingPanel((share, home.ada), client: client, options: options), client)
        }
    }

    private func share(_ panel: SharingPanel) throws -> CKShare { try #require(panel.share) }

    @Test func `B-UI-01 B-UI-04 sharing begins with the app's handler, title, type and image`() async throws {
        try await ShoppingHousehold.run { home in
            let list = try await home.makeList()
            let client = RecordingClient()
            client.prepare = {
                let share = CKShare(rootRecord: list)
                _ = try await home.ada.privateCloudDatabase.modifyRecords(saving: [list, share], deleting: [])
                return (share, home.ada)
            }
            let panel = SharingPanel(nil, client: client, options: PanelOptions())
            #expect(panel.content.phase == .new)
            #expect(client.events.isEmpty)
            let content = await panel.perform(.start(.invited, addresses: "ben@example.com", .readOnly))
            #expect(content.phase == .shared)
            #expect(content.message?.isProblem == false)
            #expect(content.person("ben@example.com")?.status == "Invited")
            #expect(content.person("ben@example.com")?.permission == "readOnly")
            #expect(client.events == ["prepare", "saved"])
            let saved = try await home.current(try share(panel))
            #expect(saved[CKShare.SystemFieldKey.title] as? String == "Groceries")
            #expect(saved[CKShare.SystemFieldKey.shareType] as? String == "com.example.list")
            #expect(saved[CKShare.SystemFieldKey.thumbnailImageData] as? Data != nil)
            try await home.join(saved.url, as: home.ben)
        }
    }

    @Test func `B-UI-01 a public share begins without people`() async throws {
        try await ShoppingHousehold.run { home in
            let list = try await home.makeList()
            let client = RecordingClient()
            client.prepare = {
                let share = CKShare(rootRecord: list)
                _ = try await home.ada.privateCloudDatabase.modifyRecords(saving: [list, share], deleting: [])
                return (share, home.ada)
            }
            let panel = SharingPanel(nil, client: client, options: PanelOptions())
            let content = await panel.perform(.start(.anyone(.readWrite), addresses: "", .readWrite))
            #expect(content.accessTitle == "Anyone with the link can make changes")
            try await home.join(try share(panel).url, as: home.cat)
        }
    }

    @Test func `B-UI-01 B-SHR-03 an existing share that was never saved is an error of the save`() async throws {
        try await ShoppingHousehold.run { home in
            let list = try await home.makeList()
            let client = RecordingClient()
            let panel = SharingPanel(
                (CKShare(rootRecord: list), home.ada), client: client, options: PanelOptions())
            let content = await panel.perform(.invite(addresses: "ben@example.com", .readWrite))
            #expect(content.message?.isProblem == true)
            #expect(client.events == ["failed"])
            #expect(client.errors.first is CKError)
        }
    }

    @Test func `B-UI-04 a handler that fails is reported, and the panel can be tried again`() async throws {
        let client = RecordingClient()
        let panel = SharingPanel(nil, client: client, options: PanelOptions())
        let content = await panel.perform(.start(.invited, addresses: "", .readWrite))
        #expect(content.phase == .new)
        #expect(content.message?.isProblem == true)
        #expect(client.events == ["prepare", "failed"])
    }

    @Test func `B-UI-02 people are invited by e-mail and telephone, join, and are removed`() async throws {
        try await withPanel { home, panel, client in
            let invited = await panel.perform(.invite(addresses: "ben@example.com, +44 1632 960083", .readWrite))
            #expect(invited.message?.isProblem == false)
            #expect(invited.people.map(\.status) == ["Owner", "Invited", "Invited, without an account so far"])
            try await home.join(try share(panel).url, as: home.ben)
            let joined = await panel.perform(.refresh)
            let ben = try #require(joined.people.first { $0.status == "Takes part" })
            let removed = await panel.perform(.remove(person: ben.id))
            #expect(removed.message?.isProblem == false)
            #expect(removed.people.count == 2)
            #expect(try await home.ben.sharedCloudDatabase.allRecordZones().isEmpty)
            #expect(client.events == ["saved", "saved"])
        }
    }

    @Test func `B-UI-02 permission and role of a person are set`() async throws {
        try await withPanel { home, panel, _ in
            let invited = await panel.perform(.invite(addresses: "ben@example.com", .readOnly))
            let ben = invited.id(of: "ben@example.com")
            let writing = await panel.perform(.setPermission(person: ben, .readWrite))
            #expect(writing.person("ben@example.com")?.permission == "readWrite")
            let inviting = await panel.perform(.setInviting(person: ben, true))
            #expect(inviting.person("ben@example.com")?.isInviting == true)
            let theirs = try await home.join(try share(panel).url, as: home.ben)
            // Who may invite does so in a panel of their own.
            let second = SharingPanel((theirs, home.ben), client: RecordingClient(), options: PanelOptions())
            let added = await second.perform(.invite(addresses: "cat@example.com", .readOnly))
            #expect(added.message?.isProblem == false)
            try await home.join(try share(panel).url, as: home.cat)
            await panel.perform(.refresh)
            let ended = await panel.perform(.setInviting(person: ben, false))
            #expect(ended.message?.isProblem == false)
            #expect(ended.people.allSatisfy { $0.isInviting != true })
        }
    }

    @Test func `B-PRT-04 access is opened to everyone with the link and closed again`() async throws {
        try await withPanel { home, panel, _ in
            let open = await panel.perform(.setAccess(.anyone(.readOnly)))
            #expect(open.access == "readOnly")
            try await home.join(try share(panel).url, as: home.cat)
            #expect(await panel.perform(.refresh).people.contains { $0.status == "Joined through the link" })
            // People cannot be added one by one meanwhile.
            #expect(await panel.perform(.invite(addresses: "ben@example.com", .readOnly)).message?.isProblem == true)
            let closed = await panel.perform(.setAccess(.invited))
            #expect(closed.people.map(\.name) == ["You"])
            #expect(try await home.cat.sharedCloudDatabase.allRecordZones().isEmpty)
        }
    }

    @Test func `B-SHN-02 B-SHN-03 requests are allowed, approved, denied, blocked and unblocked`() async throws {
        try await withPanel { home, panel, _ in
            #expect(await panel.perform(.setAccessRequests(true)).allowsAccessRequests == true)
            let link = try #require(try share(panel).url)
            for container in [home.ben, home.cat] { try await container.requestShareAccess(for: [link])[link]?.get() }
            let asked = await panel.perform(.refresh)
            #expect(Set(asked.requesters.map(\.name)) == ["ben", "cat"])
            let approved = await panel.perform(.approve(person: asked.id(of: "ben"), .readWrite))
            #expect(approved.requesters.map(\.name) == ["cat"])
            try await home.join(link, as: home.ben)
            let denied = await panel.perform(.deny(person: asked.id(of: "cat")))
            #expect(denied.requesters.isEmpty)
            try await home.cat.requestShareAccess(for: [link])[link]?.get()
            let again = await panel.perform(.refresh)
            let blocked = await panel.perform(.block(person: again.id(of: "cat")))
            #expect(blocked.blocked.map(\.name) == ["cat"])
            let unblocked = await panel.perform(.unblock(person: try #require(blocked.blocked.first).id))
            #expect(unblocked.blocked.isEmpty)
            // A request that is gone.
            let gone = await panel.perform(.deny(person: again.id(of: "cat")))
            #expect(gone.message?.text == PanelProblem.personGone.reason)
        }
    }

    @Test func `B-SHN-01 a one-time link lets one person in, and a used one leads nowhere`() async throws {
        try await withPanel { home, panel, _ in
            let made = await panel.perform(.addOneTimeLink(.readWrite))
            let slot = try #require(made.people.last)
            #expect(slot.name == "One-time link")
            #expect(slot.status == "For whoever opens it first")
            let link = try #require(slot.oneTimeLink.flatMap { URL(string: $0) })
            try await home.join(link, as: home.ben)
            let taken = try #require(await panel.perform(.refresh).people.last)
            #expect(taken.oneTimeLink == nil)
            #expect(taken.status == "Takes part")
            let used = await #expect(throws: CKError.self) { try await home.join(link, as: home.cat) }
            #expect(used.map { OpenedShareDelivery.sentence($0).contains("one-time link was used") } == true)
        }
    }

    @Test func `people of earlier shares are offered, and added without typing`() async throws {
        try await withPanel { home, panel, _ in
            await panel.perform(.invite(addresses: "ben@example.com", .readWrite))
            let other = try await home.makeShare("Other")
            let second = SharingPanel((other, home.ada), client: RecordingClient(), options: PanelOptions())
            let offered = await second.perform(.refresh)
            #expect(offered.earlier.map(\.name) == ["ben@example.com"])
            let ben = try #require(offered.earlier.first)
            let added = await second.perform(.inviteEarlier(person: ben.id, .readOnly))
            #expect(added.person("ben@example.com")?.permission == "readOnly")
            #expect(added.earlier.isEmpty)
        }
    }

    @Test func `B-UI-02 B-UI-04 B-ACP-08 stopping ends the share, and the delegate hears of it`() async throws {
        try await withPanel { home, panel, client in
            await panel.perform(.invite(addresses: "ben@example.com", .readWrite))
            try await home.join(try share(panel).url, as: home.ben)
            let ended = await panel.perform(.stop)
            #expect(ended.phase == .ended)
            #expect(ended.message?.isProblem == false)
            #expect(client.events == ["saved", "stopped"])
            #expect(try await home.ben.sharedCloudDatabase.allRecordZones().isEmpty)
            // Nothing more can be done in it.
            #expect(await panel.perform(.invite(addresses: "cat@example.com", .readOnly)) == ended)
        }
    }

    @Test func `B-UI-02 B-UI-04 B-ACP-06 a member leaves, which is reported as stopping`() async throws {
        try await withPanel { home, panel, _ in
            await panel.perform(.invite(addresses: "ben@example.com", .readOnly))
            let theirs = try await home.join(try share(panel).url, as: home.ben)
            let client = RecordingClient()
            let second = SharingPanel((theirs, home.ben), client: client, options: PanelOptions())
            #expect(second.content.ending?.name == "leave")
            // A member may not stop, nor change anything; a page could ask for it.
            #expect(await second.perform(.stop).message?.isProblem == true)
            #expect(await second.perform(.setAccess(.anyone(.readWrite))).message?.isProblem == true)
            #expect(await second.perform(.leave).phase == .ended)
            #expect(client.events == ["stopped"])
            #expect(try await home.ben.sharedCloudDatabase.allRecordZones().isEmpty)
            #expect(try await home.current(try share(panel)).recordID == panel.share?.recordID)
        }
    }

    // MARK: What goes wrong

    @Test func `a share that is stopped while the panel is open ends the panel with a sentence`() async throws {
        try await withPanel { home, panel, client in
            try await home.ada.privateCloudDatabase.deleteRecord(withID: try share(panel).recordID)
            let ended = await panel.perform(.invite(addresses: "ben@example.com", .readOnly))
            #expect(ended.phase == .ended)
            #expect(ended.message?.text == PanelProblem.gone.reason)
            #expect(client.events == ["failed"])
        }
    }

    @Test func `a member who was removed learns it by the next look`() async throws {
        try await withPanel { home, panel, _ in
            await panel.perform(.invite(addresses: "ben@example.com", .readOnly))
            let theirs = try await home.join(try share(panel).url, as: home.ben)
            let second = SharingPanel((theirs, home.ben), client: RecordingClient(), options: PanelOptions())
            let joined = await panel.perform(.refresh)
            await panel.perform(.remove(person: try #require(joined.people.last).id))
            #expect(await second.perform(.refresh).message?.text == PanelProblem.gone.reason)
        }
    }

    @Test func `B-SAV-07 two panels at once both have their way`() async throws {
        try await withPanel { home, panel, _ in
            let second = SharingPanel((try share(panel), home.ada), client: RecordingClient(), options: PanelOptions())
            await panel.perform(.invite(addresses: "ben@example.com", .readOnly))
            let both = await second.perform(.invite(addresses: "cat@example.com", .readWrite))
            #expect(both.message?.isProblem == false)
            #expect(both.people.count == 3)
            #expect(await panel.perform(.refresh).people.count == 3)
        }
    }

    @Test func `loss of the network changes nothing, says so, and passes`() async throws {
        try await withPanel { home, panel, client in
            let network = try #require(home.devices["ada"]).network
            network.isOffline = true
            // The framework tries again by itself; the panel asks as a person who waits.
            let failed = await panel.perform(.invite(addresses: "ben@example.com", .readOnly))
            #expect(failed.message?.text == "The cloud cannot be reached.")
            #expect(failed.people.count == 1)
            #expect(client.events == ["failed"])
            #expect(await panel.perform(.refresh).message?.isProblem == true)
            network.reset()
            #expect(await panel.perform(.refresh).message == nil)
            #expect(await panel.perform(.invite(addresses: "ben@example.com", .readOnly)).people.count == 2)
        }
    }

    @Test func `B-UI-03 a permission that the app does not allow is refused`() async throws {
        try await withPanel(PanelOptions(allowsPublic: false, allowsReadWrite: false)) { _, panel, client in
            #expect(await panel.perform(.invite(addresses: "ben@example.com", .readWrite)).message?.isProblem == true)
            #expect(await panel.perform(.setAccess(.anyone(.readOnly))).message?.isProblem == true)
            #expect(client.events.isEmpty)
        }
    }

    @Test func `B-UI-04 observers hear of saves, failures and stops of their container`() async throws {
        try await withPanel { home, panel, _ in
            let heard = Mutex<[String]>([])
            let observer = CKSystemSharingUIObserver(container: home.ada)
            observer.systemSharingUIDidSaveShareBlock = { id, result in
                let outcome = (try? result.get()).map { $0.recordID == id ? "saved" : "other" } ?? "failed"
                heard.withLock { $0.append(outcome) }
            }
            observer.systemSharingUIDidStopSharingBlock = { _, result in
                heard.withLock { $0.append((try? result.get()) != nil ? "stopped" : "not stopped") }
            }
            let foreign = CKSystemSharingUIObserver(container: home.ben)
            foreign.systemSharingUIDidSaveShareBlock = { _, _ in heard.withLock { $0.append("foreign") } }
            await panel.perform(.setAccessRequests(true))
            await panel.perform(.stop)
            #expect(heard.withLock { $0 } == ["saved", "stopped"])
            withExtendedLifetime((observer, foreign)) {}
        }
    }
}
