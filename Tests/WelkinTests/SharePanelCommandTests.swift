import CloudUnderTest
import Foundation
import Testing

@testable import CloudKit

/// Tests of `welkin share`, the sharing panel as text, with the built program.
@Suite(.timeLimit(.minutes(20))) struct SharePanelCommandTests {
    /// Creates a zone of the user's with a note, and shares it with Ben.
    @discardableResult
    private func share(_ name: String, _ app: CKContainer) async throws -> CKShare {
        let database = app.privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: name)).zoneID
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "Note", zoneID: zone))
        let share = CKShare(rootRecord: note)
        share[CKShare.SystemFieldKey.title] = name
        share.addParticipant(try await app.shareParticipant(forEmailAddress: "ben@example.com"))
        try await database.modifyRecords(saving: [note, share], deleting: [])
        return share
    }

    private func current(_ share: CKShare, _ app: CKContainer) async throws -> CKShare {
        try #require(try await app.privateCloudDatabase.record(for: share.recordID) as? CKShare)
    }

    @Test func `B-UI-02 the panel of the only share adds people, shows refusals, and keeps to 80 columns`() async throws
    {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            _ = try await setup.signedInMachine("ben")
            let app = try ada.app()
            let nothing = try await ada.welkin("share")
            #expect(nothing.status == 1)
            #expect(nothing.remarks.contains("nothing is shared in \(CloudAndMachines.container)"))

            let share = try await share("Trip", app)
            let panel = try await ada.welkin(
                "share", input: ["add ben", "add cat@example.com view", "fly", "done"])
            #expect(panel.status == 0, "\(panel.remarks)")
            #expect(panel.output.contains("Trip\nShared by you"))
            #expect(panel.output.contains("is no e-mail address"))
            #expect(panel.output.contains("cat@example.com can join now."))
            #expect(panel.output.contains("There is no command"))
            #expect(panel.output.split(separator: "\n").allSatisfy { $0.count <= 80 || $0.contains("/share/") })
            let cat = try await current(share, app).participants.first {
                $0.userIdentity.lookupInfo?.emailAddress == "cat@example.com"
            }
            #expect(cat?.permission == .readOnly)
        }
    }

    @Test func `B-UI-02, B-ACP-06 a member sees the panel of a member by the link, and leaves`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada").app()
            let ben = try await setup.signedInMachine("ben")
            let cat = try await setup.signedInMachine("cat")
            let link = try #require(try await share("Trip", ada).url?.absoluteString)
            let early = try await ben.welkin("share", link)
            #expect(early.status == 1)
            #expect(early.remarks.contains("welkin open --accept"))
            #expect(try await ben.welkin("open", "--accept", "--yes", link).status == 0)
            let panel = try await ben.welkin("share", link, input: ["add cat@example.com", "leave", "yes"])
            #expect(panel.status == 0, "\(panel.remarks)")
            #expect(panel.output.contains("There is no command"))
            #expect(panel.output.contains("You have left."))
            #expect(try await ben.app().sharedCloudDatabase.allRecordZones().isEmpty)
            // Foreign and forged links, and one to a share that was stopped, as well as no link at all.
            let foreign = try await cat.welkin("share", link)
            #expect(foreign.status == 1)
            #expect(foreign.remarks.contains("leads nowhere"))
            #expect(!(foreign.output + foreign.remarks).contains("Trip"))
            let endpoint = try #require(cat.variables["CLOUDKIT_ENDPOINT"])
            #expect(try await cat.welkin("share", endpoint + "/share/nothing").remarks.contains("leads nowhere"))
            #expect(try await cat.welkin("share", "ftp://nothing").remarks.contains("is no link to a share"))
        }
    }

    @Test func `of several shares one is chosen by its title or name, or at a terminal by its number`()
        async throws
    {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            _ = try await setup.signedInMachine("ben")
            let app = try ada.app()
            let house = try await share("House", app)
            try await share("Trip", app)
            let list = try await ada.welkin("share")
            #expect(list.status == 0, "\(list.remarks)")
            let lines = list.output.split(separator: "\n")
            #expect(lines.count == 2)
            #expect(lines.first?.hasPrefix("1  House") == true)
            #expect(lines.first?.contains("yours") == true)
            #expect(list.remarks.contains("welkin share LINK"))
            #expect(try await ada.welkin("share", "trip", input: ["done"]).output.contains("Trip\nShared by you"))
            let unknown = try await ada.welkin("share", "Boat")
            #expect(unknown.status == 1)
            #expect(unknown.remarks.contains("welkin share lists the shares"))

            let terminal = try PseudoTerminal()
            defer { terminal.close() }
            terminal.type("3")
            let wrong = try await ada.welkin("share", at: terminal)
            #expect(wrong.status == 1)
            #expect(wrong.remarks.contains("is no number of the list"))
            for line in ["1", "stop", "yes"] { terminal.type(line) }
            let stopped = try await ada.welkin("share", at: terminal)
            #expect(stopped.status == 0, "\(stopped.remarks)")
            #expect(stopped.output.contains("Nobody else can open this any more."))
            await #expect(throws: CKError.self) { try await current(house, app) }
            // Ended by the terminal's end of input, as well as by a command.
            #expect(try await ada.welkin("share").status == 0)
        }
    }

    @Test func `without a sign-in or a container the panel says what to do`() async throws {
        try await CloudAndMachines.run { setup in
            var nobody = try setup.machine("nobody")
            let signedOut = try await nobody.welkin("share")
            #expect(signedOut.status == 1)
            #expect(signedOut.remarks.contains("welkin login"))
            nobody.variables["CLOUDKIT_CONTAINER"] = ""
            let unnamed = try await nobody.welkin("share")
            #expect(unnamed.status == 64)
            #expect(unnamed.remarks.contains("--container"))
        }
    }
}
