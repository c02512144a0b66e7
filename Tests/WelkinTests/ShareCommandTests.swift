import CloudKitDevice
import CloudUnderTest
import Foundation
import Testing

@testable import CloudKit

/// Tests of opening share links with the built program.
@Suite(.timeLimit(.minutes(20))) struct ShareCommandTests {
    /// Creates a zone of Ada's with a note and shares it with Ben.
    private func share(_ name: String, _ ada: CKContainer) async throws -> CKShare {
        let database = ada.privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: name)).zoneID
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "Note", zoneID: zone))
        note.encryptedValues["text"] = "text of \(name)"
        let share = CKShare(rootRecord: note)
        share[CKShare.SystemFieldKey.title] = name
        share.addParticipant(try await ada.shareParticipant(forEmailAddress: "ben@example.com"))
        try await database.modifyRecords(saving: [note, share], deleting: [])
        return share
    }

    private func text(of metadata: CKShare.Metadata?, _ app: CKContainer) async throws -> String? {
        guard let root = metadata?.hierarchicalRootRecordID else { return nil }
        return try await app.sharedCloudDatabase.record(for: root).encryptedValues["text"] as? String
    }

    @Test
    func `B-TM-08, B-TM-12 a participant who reset their keys gets keys again once the owner confirms them`()
        async throws
    {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            let ben = try await setup.signedInMachine("ben")
            let (adas, bens) = (try ada.app(), try ben.app())
            let share = try await share("First", adas)
            let metadata = try await bens.shareMetadata(for: try #require(share.url))
            try await bens.accept(metadata)
            #expect(try await text(of: metadata, bens) == "text of First")
            func fingerprint() async throws -> String {
                try await ben.welkin("status", "--json").decoded(Status.self).fingerprint ?? ""
            }
            let before = try await fingerprint()
            let same = try await ada.welkin("keychain", "trust", "ben@example.com")
            #expect(same.status == 0, "\(same.remarks)")
            #expect(same.remarks.contains("Nothing has changed"))

            let reset = try await ben.welkin(
                "keychain", "reset", "--yes", "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
            #expect(reset.status == 0, "\(reset.remarks)")
            let after = try await fingerprint()
            #expect(after != before)
            _ = try await adas.privateCloudDatabase.record(for: share.recordID)
            await #expect(throws: CKError.self) { try await text(of: metadata, bens) }
            let wrong = try await ada.welkin("keychain", "trust", "ben@example.com", "--fingerprint", before)
            #expect(wrong.status == 1)
            #expect(wrong.remarks.contains("another fingerprint"))
            let right = try await ada.welkin("keychain", "trust", "ben@example.com", "--fingerprint", after)
            #expect(right.status == 0, "\(right.remarks)")
            #expect(right.output.contains(before) && right.output.contains(after))
            _ = try await adas.privateCloudDatabase.record(for: share.recordID)
            #expect(try await text(of: metadata, bens) == "text of First")
            #expect(try await ada.welkin("keychain", "trust", "nobody@example.com").status == 1)
        }
    }

    /// Adds Cat to a share of Ada's as a client of hers without keys does.
    private func addCat(to share: CKShare, _ setup: CloudAndMachines, _ ada: Machine) async throws {
        let credentials = try #require(try ada.configuration().deviceProfile.credentials())
        let held = try #require(credentials[CloudAndMachines.container, "development"])
        let user = SignedInUser(
            container: CloudAndMachines.container, userRecordName: held.userRecordName, apiToken: setup.apiToken,
            webAuthToken: held.webAuthToken)
        let kept = share.participants.filter { $0.role != .owner }.map { participant in
            #"{"participantId":"\#(participant.participantID)","type":"USER","permission":"READ_ONLY"}"#
        }
        let cat =
            #"{"type":"USER","permission":"READ_ONLY","userIdentity":{"lookupInfo":{"emailAddress":"cat@example.com"}}}"#
        let participants = (kept + [cat]).joined(separator: ",")
        let operation =
            #"{"operationType":"update","record":{"recordName":"\#(share.recordID.recordName)","#
            + #""recordChangeTag":"\#(share.recordChangeTag ?? "")","participants":[\#(participants)]}}"#
        let request = user.modify([operation], zone: share.recordID.zoneID.zoneName)
        let answer = try RawExchange(port: setup.cloud.port, connections: 1).ask(request)
        #expect(String(decoding: answer.body, as: UTF8.self).contains("cat@example.com"))
    }

    @Test func `B-TM-06 a participant whom a web client added gets keys once the owner confirms them`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            _ = try await setup.signedInMachine("ben")
            let cat = try await setup.signedInMachine("cat")
            let (adas, cats) = (try ada.app(), try cat.app())
            let first = try await share("First", adas)
            let nothing = try await ada.welkin("share", "confirm")
            #expect(nothing.status == 0)
            #expect(nothing.remarks.contains("Nothing waits for confirmation"))

            let saved = try #require(try await adas.privateCloudDatabase.record(for: first.recordID) as? CKShare)
            try await addCat(to: saved, setup, ada)
            let metadata = try await cats.shareMetadata(for: try #require(first.url))
            try await cats.accept(metadata)
            _ = try await adas.privateCloudDatabase.record(for: first.recordID)
            await #expect(throws: CKError.self) { try await text(of: metadata, cats) }

            #expect(try await ada.welkin("status").remarks.contains("cat@example.com"))
            let listed = try await ada.welkin("share", "confirm", "--json")
            #expect(listed.output.contains("cat@example.com"))
            #expect(try await ada.welkin("share", "confirm").remarks.contains("pass --yes"))
            #expect(
                try await ada.welkin("share", "confirm", "ben@example.com", "--yes").remarks.contains("Nothing waits"))
            let confirmed = try await ada.welkin("share", "confirm", "cat@example.com", "--yes")
            #expect(confirmed.status == 0, "\(confirmed.remarks)")
            _ = try await adas.privateCloudDatabase.record(for: first.recordID)
            #expect(try await text(of: metadata, cats) == "text of First")
        }
    }

    @Test func `B-ACP-01 an opened link reaches the running app and an app that starts later, which accept it`()
        async throws
    {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada").app()
            var ben = try await setup.signedInMachine("ben")
            let running = try ben.app()
            // The link contains the cloud's address; a desktop sets no variables.
            let configuration = try ben.configuration()
            for name in ["CLOUDKIT_ENDPOINT", "CLOUDKIT_CONTAINER", "CLOUDKIT_API_TOKEN"] { ben.variables[name] = "" }

            let first = try #require(try await share("First", ada).url?.absoluteString)
            async let delivered = running.openedShares().first { _ in true }
            let opened = try await ben.welkin("open", "--yes", first)
            #expect(opened.status == 0, "\(opened.remarks)")
            #expect(opened.output.contains("First"))
            #expect(opened.output.contains(CloudAndMachines.container))
            let metadata = try #require(await delivered)
            #expect(metadata.participantStatus == .pending)
            #expect(try await running.sharedCloudDatabase.allRecordZones().isEmpty)
            try await running.accept(metadata)
            #expect(try await text(of: metadata, running) == "text of First")

            let second = try #require(try await share("Second", ada).url?.absoluteString)
            // In the form of the page's button.
            #expect(try await ben.welkin("open", "--yes", "welkin:" + second).status == 0)
            let started = CKContainer(configuration: configuration)
            let later = try #require(await started.openedShares().first { _ in true })
            try await started.accept(later)
            #expect(later.share[CKShare.SystemFieldKey.title] as? String == "Second")
            #expect(try await text(of: later, started) == "text of Second")
        }
    }

    @Test func `B-ACP-01 users without an app accept with --accept`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada").app()
            let ben = try await setup.signedInMachine("ben")
            let link = try #require(try await share("Alone", ada).url?.absoluteString)
            let accepted = try await ben.welkin("open", "--accept", "--yes", link)
            #expect(accepted.status == 0, "\(accepted.remarks)")
            #expect(accepted.remarks.contains("in the shared database of " + CloudAndMachines.container))
            let app = try ben.app()
            #expect(try await app.sharedCloudDatabase.allRecordZones().count == 1)
            let opened = await app.openedShares().first { _ in true }
            #expect(opened?.participantStatus == .accepted)
            #expect(try await text(of: opened, app) == "text of Alone")
        }
    }

    @Test func `B-ACP-02 no share is accepted without confirmation, and links that cannot be opened are reported`()
        async throws
    {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada").app()
            let ben = try await setup.signedInMachine("ben")
            let cat = try await setup.signedInMachine("cat")
            let link = try #require(try await share("Secret", ada).url?.absoluteString)
            // Without a terminal there is no confirmation.
            let asked = try await ben.welkin("open", link, input: ["yes"])
            #expect(asked.status == 1)
            #expect(asked.output.contains("Secret"))
            #expect(asked.remarks.contains("nothing was opened; without a terminal, pass --yes"))
            #expect(try await ben.app().sharedCloudDatabase.allRecordZones().isEmpty)
            let stranger = try await cat.welkin("open", "--yes", link)
            #expect(stranger.status == 1)
            #expect(!(stranger.output + stranger.remarks).contains("Secret"))
            #expect(stranger.remarks.contains("leads nowhere"))
            let endpoint = try #require(ben.variables["CLOUDKIT_ENDPOINT"])
            #expect(
                try await ben.welkin("open", "--yes", endpoint + "/share/nothing").remarks.contains("leads nowhere"))
            #expect(try await ben.welkin("open", "--yes", "hello").remarks.contains("is no link to a share"))
            let elsewhere = try await ben.welkin("open", "--yes", "https://127.0.0.1:9/share/abc")
            #expect(elsewhere.status == 1)
            #expect(elsewhere.remarks.contains("cannot be reached") || elsewhere.remarks.contains("signed in"))
            let named = try await ben.welkin("open", "--yes", "--endpoint", "https://cloud.example.com", link)
            #expect(named.remarks.contains("leads to the cloud at " + endpoint))
            let nobody = try setup.machine("nobody")
            #expect(try await nobody.welkin("open", "--yes", link).remarks.contains("not signed in"))
        }
    }

    @Test func `B-ACP-02 at a terminal the user is asked for confirmation`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada").app()
            let ben = try await setup.signedInMachine("ben")
            let link = try #require(try await share("Asked", ada).url?.absoluteString)
            let terminal = try PseudoTerminal()
            defer { terminal.close() }
            terminal.type("no")
            let declined = try await ben.welkin("open", link, at: terminal)
            #expect(declined.status == 1)
            #expect(declined.remarks.contains("Open this share with the app?"))
            #expect(try await ben.app().takeOpenedShares().isEmpty)
            terminal.type("no")
            let refused = try await ben.welkin("open", "--accept", link, at: terminal)
            #expect(refused.remarks.contains("Accept this share?"))
            #expect(try await ben.app().sharedCloudDatabase.allRecordZones().isEmpty)
            terminal.type("yes")
            terminal.type("")
            // As the desktop starts it, in a new window.
            let agreed = try await ben.welkin("open", "--hold", link, at: terminal)
            #expect(agreed.status == 0, "\(agreed.remarks)")
            #expect(agreed.remarks.contains("Press Return to close"))
            #expect(try await ben.app().takeOpenedShares().map(\.participantStatus) == [.pending])
        }
    }

    @Test func `a handler is installed for the desktop, shown and removed`() async throws {
        try await CloudAndMachines.run { setup in
            let ben = try setup.machine("ben")
            #expect(try await ben.welkin("link-handler").status == 1)
            try FileManager.default.createDirectory(atPath: ben.home + "/config", withIntermediateDirectories: true)
            let preferences = URL(fileURLWithPath: ben.home + "/config/mimeapps.list")
            let mine = "[Default Applications]\ntext/html=browser.desktop;\n"
            try Data(mine.utf8).write(to: preferences)
            let installed = try await ben.welkin("link-handler", "install", "--profile", "work")
            #expect(installed.status == 0, "\(installed.remarks)")
            #expect(installed.remarks.contains(ben.home + "/data/applications/org.welkin.open.desktop"))
            let shown = try await ben.welkin("link-handler")
            #expect(shown.status == 0)
            #expect(shown.output.contains("\"open\" \"--hold\" \"--profile\" \"work\" %u"))
            // The desktop's tool agrees, if it is installed.
            let tool = "/usr/bin/xdg-mime"
            if FileManager.default.isExecutableFile(atPath: tool) {
                var variables = ben.variables
                variables["XDG_DATA_DIRS"] = ben.home + "/nothing"
                let asked = try await Machine.run(
                    [tool, "query", "default", "x-scheme-handler/welkin"], variables: variables, in: ben.home)
                #expect(asked.output == "org.welkin.open.desktop\n")
            }
            let removed = try await ben.welkin("link-handler", "remove")
            #expect(removed.status == 0)
            #expect(try Data(contentsOf: preferences) == Data(mine.utf8))
            #expect(!ben.exists("data/applications/org.welkin.open.desktop"))
            #expect(try await ben.welkin("link-handler", "remove").remarks.contains("not installed"))
            #expect(try await ben.welkin("link-handler", "install", "--profile", "a/b").status == 64)
        }
    }
}
