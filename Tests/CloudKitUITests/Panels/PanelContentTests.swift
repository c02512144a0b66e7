import CloudKit
import Foundation
import Testing

@testable import CloudKitUI

/// What a panel shows, without a cloud.
@Suite(.timeLimit(.minutes(20))) struct PanelContentTests {
    private static let you = SharedItem.Person(id: "1", role: .owner, permission: .readWrite, isYou: true)
    private static let ben = SharedItem.Person(
        id: "2", name: "Ben", address: "ben@example.com", permission: .readOnly, isAccepted: false)

    private func item(
        _ part: SharedItem.Part = .owner, access: PanelAccess = .invited,
        people: [SharedItem.Person] = [you, ben], requesters: [SharedItem.Requester] = []
    ) -> SharedItem {
        var people = people
        if part != .owner {
            people[0].isYou = false
            people[0].name = "Ada"
            people[1].isYou = true
            people[1].role = part == .administrator ? .administrator : .member
        }
        return SharedItem(
            title: "Groceries", access: access, allowsAccessRequests: false, link: "https://example.com/share/1",
            people: people, requesters: requesters, blocked: [], part: part)
    }

    private func content(_ item: SharedItem, _ options: PanelOptions = PanelOptions()) -> PanelContent {
        .shared(item, introduction: PanelIntroduction(title: "Untold"), options: options)
    }

    @Test func `B-UI-02 the owner invites, sets access and permissions, removes people and stops sharing`() {
        let content = content(item())
        #expect(content.subtitle == "Shared by you")
        #expect(content.offersInvitation)
        #expect(content.accessChoices.map(\.name) == ["invited", "readOnly", "readWrite"])
        #expect(content.people.map(\.name) == ["You", "Ben"])
        #expect(content.people.map(\.status) == ["Owner", "Invited"])
        #expect(content.people.map(\.canRemove) == [false, true])
        #expect(content.people.map(\.canSetPermission) == [false, true])
        #expect(content.people[1].isInviting == false)
        #expect(content.ending?.name == "stop")
        #expect(content.allowsAccessRequests == false)
    }

    @Test func `B-UI-02 a member sees the people, and leaves`() {
        let content = content(item(.member))
        #expect(content.subtitle == "Shared by Ada")
        #expect(!content.offersInvitation)
        #expect(content.accessChoices.isEmpty)
        #expect(content.people.allSatisfy { !$0.canRemove && !$0.canSetPermission && $0.isInviting == nil })
        #expect(content.permissions.isEmpty)
        #expect(content.allowsAccessRequests == nil)
        #expect(content.link == nil)
        #expect(content.ending?.name == "leave")
    }

    @Test func `B-UI-02 a member copies the link of a public share only`() {
        #expect(content(item(.member, access: .anyone(.readOnly))).link?.address == "https://example.com/share/1")
        #expect(content(item(.member)).link == nil)
    }

    @Test func `B-UI-02 B-PRT-07 an administrator invites, and leaves in place of stopping`() {
        let content = content(item(.administrator))
        #expect(content.offersInvitation)
        #expect(content.ending?.name == "leave")
        // Only the owner makes administrators.
        #expect(content.people.allSatisfy { $0.isInviting == nil })
    }

    @Test func `B-UI-02 a share that everyone has left opens with the invitation`() {
        #expect(content(item(people: [Self.you])).beginsWithInvitation)
        #expect(!content(item()).beginsWithInvitation)
        #expect(!content(item(access: .anyone(.readOnly), people: [Self.you])).beginsWithInvitation)
    }

    @Test func `B-PRT-03 a public share offers no change of single people`() {
        let content = content(item(access: .anyone(.readWrite)))
        #expect(!content.offersInvitation)
        #expect(content.people.allSatisfy { !$0.canRemove && !$0.canSetPermission })
        #expect(content.access == "readWrite")
    }

    @Test(arguments: [
        (PanelOptions(), ["invited", "readOnly", "readWrite"], ["readOnly", "readWrite"]),
        (PanelOptions(allowsPublic: false), [], ["readOnly", "readWrite"]),
        (PanelOptions(allowsPrivate: false), ["invited", "readOnly", "readWrite"], ["readOnly", "readWrite"]),
        (PanelOptions(allowsReadWrite: false), ["invited", "readOnly"], ["readOnly"]),
        (PanelOptions(allowsPublic: false, allowsReadOnly: false), [], ["readWrite"]),
    ])
    func `B-UI-03 leaving out one of two hides the choice and sets the other`(
        options: PanelOptions, access: [String], permissions: [String]
    ) {
        let content = content(item(), options)
        #expect(content.accessChoices.map(\.name) == access)
        #expect(content.permissions.map(\.name) == permissions)
        #expect(content.people[1].canSetPermission == (permissions.count > 1))
    }

    @Test func `B-UI-03 an empty set allows everything`() {
        let empty = PanelOptions(
            allowsPublic: false, allowsPrivate: false, allowsReadOnly: false, allowsReadWrite: false)
        #expect(empty == PanelOptions())
        #expect(PanelOptions(UICloudSharingController.PermissionOptions()) == PanelOptions())
        #expect(PanelOptions(NSSharingService.CloudKitOptions.standard) == PanelOptions())
        #expect(
            PanelOptions(UICloudSharingController.PermissionOptions.allowPublic) == PanelOptions(allowsPrivate: false))
        let named: UICloudSharingController.PermissionOptions = [.allowPrivate, .allowReadOnly]
        #expect(PanelOptions(named) == PanelOptions(allowsPublic: false, allowsReadWrite: false))
        let allowed = CKAllowedSharingOptions(
            allowedParticipantPermissionOptions: .readOnly, allowedParticipantAccessOptions: .specifiedRecipientsOnly)
        #expect(
            PanelOptions(allowed)
                == PanelOptions(
                    allowsPublic: false, allowsReadWrite: false, offersAccessRequests: false, offersInviting: false))
    }

    @Test func `B-UI-01 something new offers access, people and permission, and nothing else`() {
        let content = PanelContent.new(PanelIntroduction(title: "Groceries"), options: PanelOptions())
        #expect(content.phase == .new)
        #expect(content.title == "Groceries")
        #expect(content.access == "invited")
        #expect(content.permission == "readWrite")
        #expect(content.people.isEmpty)
        #expect(content.ending == nil)
        #expect(content.beginsWithInvitation)
        #expect(PanelContent.new(PanelIntroduction(), options: PanelOptions()).title == "Untitled")
    }

    @Test func `requests for access are shown to owner and administrators`() {
        let requesters = [SharedItem.Requester(id: "9", name: nil, address: "cat@example.com")]
        #expect(content(item(requesters: requesters)).requesters.map(\.name) == ["cat@example.com"])
        #expect(content(item(.member, requesters: requesters)).requesters.isEmpty)
    }

    @Test func `a thumbnail is shown if it is an image that browsers show`() {
        var shared = item()
        shared.thumbnail = Data([0x89, 0x50, 0x4E, 0x47, 0])
        #expect(content(shared).thumbnail?.hasPrefix("data:image/png;base64,") == true)
        shared.thumbnail = Data("<svg onload=alert(1)>".utf8)
        #expect(content(shared).thumbnail == nil)
    }
}

/// What people type and pages send.
@Suite(.timeLimit(.minutes(20))) struct PanelInputTests {
    @Test func `addresses are read between commas, semicolons and lines`() throws {
        let list = try AddressList(" ben@example.com, +44 1632 960083;\ncat@example.com,ben@example.com ,")
        #expect(list.addresses == ["ben@example.com", "+441632960083", "cat@example.com"])
        #expect(list.text == "ben@example.com, +441632960083 and cat@example.com")
        #expect(list.lookups.map(\.phoneNumber) == [nil, "+441632960083", nil])
        #expect(try AddressList("", mayBeEmpty: true).isEmpty)
    }

    @Test(arguments: ["", " , ", "ben", "ben@", "@example.com", "a b@example.com", "0163296", "+", "+123", "a@b@c"])
    func `an address that is none is refused in a sentence`(text: String) {
        let problem = #expect(throws: PanelProblem.self) { try AddressList(text) }
        #expect(problem?.remedy.isEmpty == false)
    }

    @Test func `more addresses than a share has people are refused`() {
        let many = (0...100).map { "user\($0)@example.com" }.joined(separator: ",")
        #expect(throws: PanelProblem.self) { try AddressList(many) }
    }

    @Test func `actions of a page that lack a part or are unknown are refused`() throws {
        typealias Form = PanelAction.Form
        #expect(
            try PanelAction(Form(action: "setInviting", person: "1", isOn: true)) == .setInviting(person: "1", true))
        #expect(
            try PanelAction(Form(action: "start", addresses: "a@b", permission: "readOnly", access: "readWrite"))
                == .start(.anyone(.readWrite), addresses: "a@b", .readOnly))
        for form in [
            Form(action: "drop"), Form(action: "remove"), Form(action: "invite", addresses: "a@b"),
            Form(action: "invite", addresses: "a@b", permission: "owner"), Form(action: "setAccess", access: "all"),
            Form(action: "setAccessRequests"), Form(action: ""),
        ] {
            #expect(throws: PanelProblem.malformed) { try PanelAction(form) }
        }
    }
}
