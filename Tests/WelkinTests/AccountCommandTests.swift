import CloudKitDevice
import CloudUnderTest
import Foundation
import MailReceiver
import Testing

@testable import CloudKit

/// Tests of the commands for accounts and devices, with the built program and a cloud process.
@Suite(.timeLimit(.minutes(20))) struct AccountCommandTests {
    /// Discovery by its deprecated form. Tests cannot be deprecated themselves; they call it through a protocol.
    private static let forms: any DiscoveryForms = DeprecatedForms()

    @Test func `B-ACC-05 a person is found by number once the operator has added it and the person agreed`()
        async throws
    {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            let ben = try await setup.signedInMachine("ben")
            let added = try await setup.runAsOperator("account", "phone", "add", "ben@example.com", "+44 1632 960083")
            #expect(added.status == 0, "\(added.remarks)")
            #expect(
                try await setup.runAsOperator("account", "phone", "list", "ben@example.com").output.contains("960083"))
            let wrong = try await setup.runAsOperator("account", "phone", "add", "ben@example.com", "960083")
            #expect(wrong.status != 0)
            #expect(wrong.remarks.contains("country code"), "\(wrong.remarks)")

            func found() async throws -> String? {
                try await Self.forms.userRecordName(ofPhoneNumber: "+441632960083", in: try ada.app())
            }
            #expect(try await found() == nil)
            let agreed = try await ben.welkin("discovery", "on")
            #expect(agreed.status == 0, "\(agreed.remarks)")
            #expect(try await found() == (try await ben.app().userRecordID().recordName))
            #expect(try await ben.welkin("discovery", "off").status == 0)
            #expect(try await found() == nil)
            #expect(
                try await setup.runAsOperator("account", "phone", "remove", "ben@example.com", "+441632960083").status
                    == 0)
        }
    }

    @Test func `a password that is missing, short or unreadable is an error with what to do`() async throws {
        try await CloudAndMachines.run { setup in
            for (options, input, reason) in [
                ([], [], "empty. Type it in a terminal, or give it with --password-file or --password-stdin."),
                (["--password-stdin"], [""], "The password is empty."),
                (["--password-stdin"], ["secret"], "use at least 8 characters"),
                (["--password-file", "/nothing.txt"], [], "The file /nothing.txt cannot be read."),
            ] {
                let refused = try await setup.runAsOperator(
                    ["account", "add", "new@example.com"] + options, input: input)
                #expect(refused.status == 1 && refused.remarks.contains(reason), "\(refused.remarks)")
                #expect(!refused.remarks.contains("Usage:"), "\(refused.remarks)")
            }
            #expect(try await setup.runAsOperator("account", "list").output.contains("new@example.com") == false)
        }
    }

    @Test func `a user has the account deleted, and takes it back in time`() async throws {
        try await CloudAndMachines.run(serving: ["--account-deletion-days", "7"]) { setup in
            let ada = try await setup.signedInMachine("ada")
            let unsure = try await ada.welkin(
                "account", "delete", "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
            #expect(unsure.status == 1 && unsure.remarks.contains("in 7 days"), "\(unsure.remarks)")
            #expect(try await ada.welkin("status").status == 0)
            let deleted = try await ada.welkin(
                "account", "delete", "--yes", "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
            #expect(deleted.status == 0, "\(deleted.remarks)")
            #expect(try await ada.welkin("status").output.contains("not signed in"))
            let login = ["login", "--email", "ada@example.com", "--rounds", CloudAndMachines.rounds]
            let refused = try await ada.welkin(
                login[0], login[1], login[2], login[3], login[4], input: ["correct horse"])
            #expect(refused.status == 1 && refused.remarks.contains("within 7 days"), "\(refused.remarks)")
            let kept = try await ada.welkin(
                login[0], login[1], login[2], login[3], login[4], "--keep-account", input: ["correct horse"])
            #expect(kept.status == 0, "\(kept.remarks)")
            #expect(try await ada.welkin("status").status == 0)
        }
        try await CloudAndMachines.run(serving: ["--account-deletion-days", "0"]) { setup in
            let ada = try await setup.signedInMachine("ada")
            let deleted = try await ada.welkin(
                "account", "delete", "--yes", "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
            #expect(deleted.status == 0 && deleted.output.contains("will be deleted"), "\(deleted.remarks)")
        }
    }

    @Test func `a user writes everything into a folder, and puts it into another account`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
            record["title"] = "plain"
            record.encryptedValues["text"] = "sealed"
            try await ada.app().privateCloudDatabase.save(record)
            let folder = ada.home + "/everything"
            let exported = try await ada.welkin("account", "export", folder)
            #expect(exported.status == 0 && exported.remarks.contains("in clear"), "\(exported.remarks)")
            #expect(exported.output.contains(CloudAndMachines.container))
            let files = ada.files(below: "everything")
            #expect(files.contains("manifest.json") && files.contains { $0.hasSuffix("1-_defaultZone.jsonl") })
            let again = try await ada.welkin("account", "export", folder)
            #expect(again.status == 1 && again.remarks.contains("exists already"), "\(again.remarks)")

            let ben = try await setup.signedInMachine("ben")
            let imported = try await ben.welkin("account", "import", folder)
            #expect(imported.status == 0, "\(imported.remarks)")
            let read = try await ben.app().privateCloudDatabase.record(for: record.recordID)
            #expect(read["title"] as? String == "plain" && read.encryptedValues["text"] as? String == "sealed")
            let wrong = try await ben.welkin("account", "import", ada.home)
            #expect(wrong.status == 1 && wrong.remarks.contains("no manifest.json"), "\(wrong.remarks)")
        }
    }

    @Test func `a user signs up, sees the status, and signs in a second device with the password`() async throws {
        try await CloudAndMachines.run { setup in
            let phone = try setup.machine("phone")
            let before = try await phone.welkin("status")
            #expect(before.status == 1)
            #expect(before.output.contains("not signed in"))
            let made = try await phone.welkin(
                "sign-up", "--email", "ada@example.com", "--name", "Ada", "--device-name", "Phone", "--json",
                input: ["correct horse"])
            #expect(made.status == 0, "\(made.remarks)")
            let first = try made.decoded(Status.self)
            #expect(first.state == "available")
            #expect(first.recoveryWords?.count == 12)
            let shown = try await phone.welkin("status")
            #expect(shown.status == 0)
            #expect(shown.output.contains("ada@example.com"))
            let again = try await phone.welkin("sign-up", "--email", "ada@example.com", input: ["another horse"])
            #expect(again.status == 1)

            let laptop = try setup.machine("laptop")
            let login = try await laptop.welkin(
                "login", "--email", "ada@example.com", "--device-name", "Laptop", "--json", input: ["correct horse"])
            #expect(login.status == 0, "\(login.remarks)")
            let second = try login.decoded(Status.self)
            #expect(second.fingerprint == first.fingerprint)
            #expect(second.recoveryWords == nil)
            // Apps find the keys: one encrypts, the other decrypts.
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
            record.encryptedValues["text"] = "sealed"
            try await phone.app().privateCloudDatabase.save(record)
            let read = try await laptop.app().privateCloudDatabase.record(for: record.recordID)
            #expect(read.encryptedValues["text"] as? String == "sealed")

            let listed = try await phone.welkin("devices", "list", "--json")
            let devices = try listed.decoded([ListedDevice].self)
            #expect(devices.map(\.name) == ["Phone", "Laptop"])
            #expect(devices.map(\.isCaller) == [true, false])
            #expect(try await phone.welkin("devices").output.contains("Phone (this one)"))
            let revoked = try await phone.welkin("devices", "revoke", devices[1].deviceID)
            #expect(revoked.status == 0, "\(revoked.remarks)")
            let out = try await laptop.welkin("status", "--json")
            #expect(out.status == 1)
            #expect(try out.decoded(Status.self).state == "temporarilyUnavailable")
            #expect(try await phone.welkin("devices", "revoke", "nothing").status == 1)
        }
    }

    @Test func `an operator invites a user to a cloud whose sign-up is closed`() async throws {
        try await CloudAndMachines.run(serving: ["--sign-up", "closed"]) { setup in
            let phone = try setup.machine("phone")
            let closed = try await phone.welkin("sign-up", "--email", "ada@example.com", input: ["correct horse"])
            #expect(closed.status == 1 && closed.remarks.contains("--invitation"), "\(closed.remarks)")
            let address = "http://127.0.0.1:\(setup.cloud.port)"
            let invited = try await setup.runAsOperator(
                "invitation", "add", "--email", "ada@example.com", "--public-url", address + "/")
            #expect(invited.status == 0 && invited.remarks.contains("not shown again"), "\(invited.remarks)")
            let link = invited.output.trimmingCharacters(in: .whitespacesAndNewlines)
            let beginning = address + "/invitation#"
            #expect(link.hasPrefix(beginning) && link.count == beginning.count + 32, "\(link)")
            let other = try await phone.welkin(
                "sign-up", "--email", "eve@example.com", "--invitation", link, input: ["correct horse"])
            #expect(other.status == 1 && other.remarks.contains("another e-mail address"), "\(other.remarks)")
            // The link names the cloud.
            var tablet = try setup.machine("tablet")
            tablet.variables["CLOUDKIT_ENDPOINT"] = ""
            let made = try await tablet.welkin(
                "sign-up", "--email", "ada@example.com", "--invitation", link, input: ["correct horse"])
            #expect(made.status == 0 && made.output.contains("ada@example.com"), "\(made.remarks)")
            let listed = try await setup.runAsOperator("invitation", "list")
            #expect(listed.output.contains("1/1") && listed.output.contains("used"), "\(listed.output)")

            let many = try await setup.runAsOperator("invitation", "add", "--uses", "3", "--days", "2", "--json")
            #expect(many.status == 0, "\(many.remarks)")
            let line = try many.decoded(ListedInvitation.self)
            #expect(line.usesMax == 3 && line.state == "open" && line.link?.contains("/invitation#") == true)
            let code = try #require(line.link?.split(separator: "#").last.map(String.init))
            let lines = try await setup.runAsOperator("invitation", "list", "--json")
            #expect(try lines.decoded([ListedInvitation].self).map(\.link) == [nil, nil])
            #expect(!lines.output.contains(code))
            #expect(try await setup.runAsOperator("invitation", "remove", line.id).status == 0)
            let gone = try await phone.welkin(
                "sign-up", "--email", "ben@example.com", "--invitation", code, input: ["correct horse"])
            #expect(gone.status == 1 && gone.remarks.contains("not valid"), "\(gone.remarks)")
            let again = try await setup.runAsOperator("invitation", "remove", line.id)
            #expect(again.status == 1 && again.remarks.contains("welkin invitation list"), "\(again.remarks)")
            for arguments in [["--uses", "0"], ["--days", "366"], ["--email", "a@b", "--uses", "2"]] {
                let refused = try await setup.runAsOperator(
                    "invitation", "add", arguments[0], arguments[1], arguments.count > 2 ? "--uses=2" : "--json")
                #expect(refused.status == 64, "\(refused.remarks)")
            }
            let taken = try await setup.runAsOperator("invitation", "add", "--email", "ada@example.com")
            #expect(taken.status == 1 && taken.remarks.contains("There is an account"), "\(taken.remarks)")
            let log = try await setup.runAsOperator("logs", "--json")
            #expect(log.output.contains("invitations/create") && !log.output.contains(code), "\(log.remarks)")
        }
    }

    @Test func `an operator invites a list of people, and works with their group`() async throws {
        try await CloudAndMachines.run(serving: ["--sign-up", "closed"]) { setup in
            let list = setup.operatorsMachine.home + "/people.csv"
            func write(_ text: String) throws { try text.write(toFile: list, atomically: true, encoding: .utf8) }
            func invite(_ options: String...) async throws -> Machine.Outcome {
                try await setup.runAsOperator(
                    "invitation", "add", "--file", list, options.first ?? "--json", options.last ?? "--json")
            }
            try write("email,group,quota\nada@example.com,staff,5000\nben,,\n")
            let wrong = try await invite()
            #expect(wrong.status == 1 && wrong.remarks.contains("line 3: \"ben\" is not"), "\(wrong.remarks)")
            let none = try await setup.runAsOperator("invitation", "list", "--json")
            #expect(try none.decoded([ListedInvitation].self).isEmpty)

            try write("email,group,quota\nada@example.com,staff,5000\nben@example.com,staff,\n")
            let dry = try await invite("--dry-run")
            #expect(dry.status == 0 && dry.remarks.contains("2 of 2 people would be invited"), "\(dry.remarks)")
            #expect(!dry.output.contains("#"))
            let invited = try await invite()
            #expect(invited.status == 0, "\(invited.remarks)")
            let people = try invited.decoded([Invited].self)
            #expect(people.map(\.state) == ["invited", "invited"])
            let again = try await invite().decoded([Invited].self)
            #expect(again.map(\.state) == ["invited before", "invited before"] && again.allSatisfy { $0.link == nil })

            let phone = try setup.machine("phone")
            let link = try #require(people[0].link)
            let made = try await phone.welkin(
                "sign-up", "--email", "ada@example.com", "--invitation",
                link.split(separator: "#").last.map(String.init) ?? "", input: ["correct horse"])
            #expect(made.status == 0, "\(made.remarks)")
            let listed = try await setup.runAsOperator("account", "list", "--group", "staff")
            #expect(listed.output.contains("ada@example.com") && listed.output.contains("5000"), "\(listed.output)")
            let nobody = try await setup.runAsOperator("account", "list", "--group", "board")
            #expect(nobody.output.isEmpty && nobody.remarks.contains("No account is in the group board"))
            let quota = try await setup.runAsOperator("account", "quota", "--group", "staff", "none")
            #expect(quota.status == 0 && quota.output == "Quota of 1 account: none.\n", "\(quota.remarks)")
            let off = try await setup.runAsOperator("account", "disable", "--group", "staff")
            #expect(off.status == 0 && off.output == "1 account disabled.\n", "\(off.remarks)")
            let on = try await setup.runAsOperator("account", "enable", "ada@example.com")
            #expect(on.status == 0 && on.output == "Account ada@example.com enabled.\n", "\(on.remarks)")
            #expect(try await setup.runAsOperator("account", "group", "ada@example.com").output == "staff\n")
            #expect(try await setup.runAsOperator("account", "group", "ada@example.com", "board").output == "board\n")
            #expect(try await setup.runAsOperator("account", "group", "ada@example.com", "--none").output == "none\n")
            let empty = try await setup.runAsOperator("account", "disable", "--group", "staff")
            #expect(empty.status == 1 && empty.remarks.contains("No account is in the group"), "\(empty.remarks)")
            for (verb, choice, rest) in [
                ("disable", "ada@example.com", "--group=staff"), ("quota", "--group=staff", "lots"),
                ("quota", "--group=staff", "--group=staff"), ("enable", "--group=", "--group="),
            ] {
                let refused = try await setup.runAsOperator("account", verb, choice, rest)
                #expect(refused.status == 64, "\(verb) \(choice) \(rest): \(refused.remarks)")
            }
        }
    }

    @Test func `B-PRT-05 a cloud that sends mail invites people, and proves addresses, by mailed links`() async throws {
        let mail = try MailReceiver()
        let settings = ["--smtp-url", "smtp://127.0.0.1:\(mail.port)", "--smtp-from", "cloud@example.com"]
        let url = "https://cloud.example.com"
        func code(_ page: String) throws -> String {
            let text = try #require(mail.taken.last).content
            let link = try #require(text.range(of: "\(url)/\(page)#"))
            return String(text[link.upperBound...].prefix(32))
        }
        try await CloudAndMachines.run(serving: settings + ["--public-url", url]) { setup in
            let phone = try setup.machine("phone")
            let made = try await phone.welkin("sign-up", "--email", "ada@example.com", input: ["correct horse"])
            #expect(made.status == 0, "\(made.remarks)")
            #expect(mail.taken.map(\.receiver) == ["ada@example.com"])
            let unproved = try await phone.welkin("address")
            #expect(unproved.status == 0 && unproved.output == "ada@example.com: not proved\n", "\(unproved.remarks)")
            #expect(unproved.remarks.contains("welkin address --send"))
            let soon = try await phone.welkin("address", "--send")
            #expect(soon.status == 1 && soon.remarks.contains("Try again in"), "\(soon.remarks)")
            let wrong = try await phone.welkin("address", "--prove", "\(url)/address#0")
            #expect(wrong.status == 1 && wrong.remarks.contains("the link is not valid"), "\(wrong.remarks)")
            let proved = try await phone.welkin("address", "--prove", "\(url)/address#\(try code("address"))")
            #expect(proved.status == 0 && proved.output == "ada@example.com: proved\n", "\(proved.remarks)")
            #expect(try await phone.welkin("address", "--json").output.contains("\"isProved\" : true"))
            #expect(try await setup.runAsOperator("account", "address", "ada@example.com").output == "proved\n")
            let all = try await setup.runAsOperator("account", "address", "--all", "unproved")
            #expect(all.output == "1 account: unproved.\n", "\(all.remarks)")

            // Commands beside the cloud read its settings; a mailed link proves the address.
            var operators = setup.operatorsMachine
            operators.variables.merge([
                "WELKIN_SMTP_URL": settings[1], "WELKIN_SMTP_FROM": settings[3], "WELKIN_PUBLIC_URL": url,
                "WELKIN_CONFIG": "",
            ]) { $1 }
            let invited = try await operators.welkin(
                "invitation", "add", "--email", "ben@example.com", "--data", setup.cloud.data)
            #expect(invited.status == 0 && invited.output.isEmpty, "\(invited.remarks)")
            #expect(invited.remarks.contains("It was mailed"), "\(invited.remarks)")
            #expect(mail.taken.last?.receiver == "ben@example.com")
            let tablet = try setup.machine("tablet")
            let joined = try await tablet.welkin(
                "sign-up", "--email", "ben@example.com", "--invitation", try code("invitation"),
                input: ["correct horse"])
            #expect(joined.status == 0, "\(joined.remarks)")
            #expect(try await tablet.welkin("address").output == "ben@example.com: proved\n")
            #expect(mail.taken.count == 2)

            mail.refuse(true)
            let list = operators.home + "/people.csv"
            try "email\neve@example.com\n".write(toFile: list, atomically: true, encoding: .utf8)
            let failed = try await operators.welkin(
                "invitation", "add", "--file", list, "--json", "--data", setup.cloud.data)
            #expect(failed.status == 1 && failed.remarks.contains("line 2: the mail server took no message"))
            #expect(try failed.decoded([Invited].self).map(\.state) == ["mail failed"])
            mail.refuse(false)
            let sent = try await operators.welkin(
                "invitation", "add", "--file", list, "--json", "--data", setup.cloud.data)
            #expect(try sent.decoded([Invited].self).map(\.state) == ["invited"])
            #expect(try sent.decoded([Invited].self)[0].link == nil && mail.taken.last?.receiver == "eve@example.com")
            let printed = try await operators.welkin(
                "invitation", "add", "--email", "zoe@example.com", "--no-mail", "--data", setup.cloud.data)
            #expect(printed.output.hasPrefix("\(url)/invitation#"), "\(printed.remarks)")
        }
    }

    private struct Invited: Decodable {
        var state: String
        var link: String?
    }

    private struct ListedInvitation: Decodable {
        var id: String
        var usesMax: Int
        var state: String
        var link: String?
    }

    @Test func `B-ACC-05 a person turns discovery on and off`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            #expect(try await ada.welkin("discovery").output.contains("you have not decided"))
            #expect(try await ada.welkin("discovery", "on").output.contains("Discovery is on"))
            #expect(try await ada.welkin("discovery", "--json").output.contains("true"))
            #expect(try await ada.welkin("discovery", "off").output.contains("Discovery is off"))
            #expect(try await ada.welkin("discovery", "perhaps").status == 64)
            let stranger = try await setup.machine("stranger").welkin("discovery", "on")
            #expect(stranger.status == 1)
            #expect(stranger.remarks.contains("welkin login"), "\(stranger.remarks)")
            setup.cloud.kill()
            let alone = try await ada.welkin("discovery")
            #expect(alone.status == 1 && alone.output.isEmpty)
            #expect(alone.remarks.contains("cannot be reached"), "\(alone.remarks)")
        }
    }

    @Test func `B-PRT-05 a phone number belongs to one account, and wrong ones are named`() async throws {
        try await CloudAndMachines.run { setup in
            for name in ["ada", "ben"] {
                let added = try await setup.runAsOperator(
                    "account", "add", name + "@example.com", "--rounds", CloudAndMachines.rounds,
                    input: ["correct horse"])
                #expect(added.status == 0, "\(added.remarks)")
            }
            func phone(_ verb: String, _ name: String, _ number: String) async throws -> Machine.Outcome {
                try await setup.runAsOperator("account", "phone", verb, name + "@example.com", number)
            }
            #expect(try await phone("add", "ada", "+44 1632 960083").status == 0)
            // Added again it changes nothing.
            #expect(try await phone("add", "ada", "+44 (1632) 960083").status == 0)
            let listed = try await setup.runAsOperator("account", "phone", "list", "ada@example.com", "--json")
            #expect(try listed.decoded([String].self) == ["+441632960083"])
            let refusals = [
                (try await phone("add", "ben", "+441632960083"), "Another account has the number"),
                (try await phone("add", "ben", "call me"), "country code"),
                (try await phone("add", "eve", "+441632960084"), "There is no account for eve@example.com"),
                (try await phone("remove", "ben", "+441632960083"), "does not have the number"),
                (
                    try await setup.runAsOperator("account", "phone", "list", "eve@example.com"),
                    "There is no account for eve@example.com"
                ),
            ]
            for (refused, reason) in refusals {
                #expect(refused.status == 1)
                #expect(refused.remarks.contains(reason), "\(refused.remarks)")
            }
            #expect(try await setup.runAsOperator("account", "phone", "add", "ada@example.com").status == 64)
            for last in 0..<9 { #expect(try await phone("add", "ada", "+44163296010\(last)").status == 0) }
            let eleventh = try await phone("add", "ada", "+441632960200")
            #expect(eleventh.status == 1 && eleventh.remarks.contains("10 phone numbers"), "\(eleventh.remarks)")
            #expect(try await phone("remove", "ada", "+441632960083").status == 0)
            #expect(try await phone("add", "ben", "+441632960083").status == 0)
            let none = try await setup.runAsOperator("account", "phone", "list", "ben@example.com")
            #expect(none.output == "+441632960083\n")
        }
    }

    @Test func `a person decides whether browsers get the keys`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            #expect(try await ada.welkin("keychain", "web").output.contains("can read your encrypted data"))
            #expect(try await ada.welkin("keychain", "web", "off").output.contains("No browser"))
            #expect(try await ada.welkin("keychain", "web", "--json").output.contains("false"))
            #expect(try await ada.welkin("keychain", "web", "on").status == 0)
        }
    }

    @Test func `a signed-in device remembers its cloud`() async throws {
        try await CloudAndMachines.run { setup in
            var ada = try await setup.signedInMachine("ada")
            for name in ["CLOUDKIT_ENDPOINT", "CLOUDKIT_CONTAINER", "CLOUDKIT_API_TOKEN"] { ada.variables[name] = "" }
            let status = try await ada.welkin("status", "--json")
            #expect(status.status == 0, "\(status.remarks)")
            #expect(try status.decoded(Status.self).email == "ada@example.com")
            #expect(try await ada.welkin("devices").output.contains("(this one)"))
            #expect(try await setup.runAsOperator("account", "disable", "ada@example.com").status == 0)
            while try await ada.welkin("status").status == 0 {}
            #expect(try await ada.welkin("status", "--json").decoded(Status.self).state == "restricted")
            var nobody = try setup.machine("nobody")
            nobody.variables["CLOUDKIT_ENDPOINT"] = ""
            #expect(try await nobody.welkin("status").remarks.contains("No cloud is configured"))
        }
    }

    @Test func `a data folder that is unusable or in use is named in the error`() async throws {
        try await CloudAndMachines.run { setup in
            let again = try await setup.runAsOperator("serve", "--port", "0")
            #expect(again.status == 1)
            #expect(again.remarks.contains("a cloud is already running on \(setup.cloud.data)"))
            let desk = setup.operatorsMachine
            let file = desk.home + "/no folder"
            #expect(FileManager.default.createFile(atPath: file, contents: nil))
            let refused = try await desk.welkin("account", "list", "--data", file)
            #expect(refused.status == 1)
            #expect(refused.remarks.contains("the data folder \(file) cannot be used"))
            let missing = try await setup.runAsOperator(
                "record", "show", CloudAndMachines.container, "Notes", "n", "--user", "_nobody")
            #expect(missing.remarks.contains("Zone does not exist. Create the zone first."))
        }
    }

    @Test func `only serve creates a cloud, in a folder whose parent exists, and reports it`() async throws {
        try await CloudAndMachines.run { setup in
            #expect(try setup.cloud.startupOutput().contains("a new, empty cloud; data in \(setup.cloud.data)\n"))
            try setup.cloud.restart()
            #expect(try setup.cloud.startupOutput().contains("\ndata in \(setup.cloud.data)\n"))
            let desk = setup.operatorsMachine
            let mistyped = try await desk.welkin("account", "list", "--data", desk.home + "/dtaa")
            #expect(mistyped.status == 1)
            #expect(mistyped.remarks.contains("there is no cloud in \(desk.home)/dtaa; pass its folder with --data"))
            #expect(!desk.exists("dtaa"))
            let served = try await desk.welkin("serve", "--port", "0", "--data", desk.home + "/clouds/one")
            #expect(served.status == 1)
            #expect(served.remarks.contains("/clouds of the data folder \(desk.home)/clouds/one does not exist"))
            #expect(!desk.exists("clouds"))
        }
    }

    @Test func `a cloud is reported as new until it has content, also after a failed start`() async throws {
        try await CloudAndMachines.run { setup in
            let cloud = try CloudProcess()
            defer { cloud.end() }
            cloud.kill()
            for path in [cloud.data, cloud.log] { try FileManager.default.removeItem(atPath: path) }
            let desk = setup.operatorsMachine
            let failed = try await desk.welkin(
                "serve", "--data", cloud.data, "--port", String(setup.cloud.port), "--web-push", "on")
            #expect(failed.status == 1)
            #expect(failed.remarks.contains("Port \(setup.cloud.port) of 127.0.0.1 is taken."))
            try cloud.restart()
            #expect(try cloud.startupOutput().contains("a new, empty cloud; data in \(cloud.data)\n"))
            cloud.kill()
            try FileManager.default.removeItem(atPath: cloud.log)
            let token = try await desk.welkin("token", "create", CloudAndMachines.container, "--data", cloud.data)
            #expect(token.status == 0, "\(token.remarks)")
            try cloud.restart()
            #expect(try cloud.startupOutput().contains("\ndata in \(cloud.data)\n"))
        }
    }

    @Test func `a wrong password does not sign in, stores nothing and is not shown`() async throws {
        try await CloudAndMachines.run { setup in
            _ = try await setup.signedInMachine("ada")
            let other = try setup.machine("other")
            let login = try await other.welkin(
                "login", "--email", "ada@example.com", "--rounds", CloudAndMachines.rounds, input: ["wrong horse"])
            #expect(login.status == 1)
            #expect(!login.remarks.isEmpty)
            #expect(!(login.output + login.remarks).contains("wrong horse"))
            #expect(!other.files(below: "data").contains { $0.hasSuffix("credentials.json") })
            #expect(try await other.welkin("status", "--json").decoded(Status.self).state == "noAccount")
            let unknown = try await other.welkin(
                "login", "--email", "nobody@example.com", "--rounds", CloudAndMachines.rounds, input: ["wrong horse"])
            #expect(unknown.status == 1)
            // A missing account and a wrong password give the same error.
            #expect(unknown.remarks == login.remarks)
            #expect(try await other.welkin("login", "--email", "ada@example.com", input: [""]).status == 1)
        }
    }

    @Test func `the password can be changed, and reset with the recovery words`() async throws {
        try await CloudAndMachines.run { setup in
            let phone = try setup.machine("phone")
            let made = try await phone.welkin(
                "sign-up", "--email", "ada@example.com", "--json", input: ["correct horse"])
            let words = try #require(try made.decoded(Status.self).recoveryWords)
            let refused = try await phone.welkin("password", input: ["wrong horse", "battery staple"])
            #expect(refused.status == 1)
            let changed = try await phone.welkin("password", input: ["correct horse", "battery staple"])
            #expect(changed.status == 0, "\(changed.remarks)")
            #expect(try await phone.welkin("status").status == 0)
            let laptop = try setup.machine("laptop")
            #expect(
                try await laptop.welkin("login", "--email", "ada@example.com", input: ["correct horse"]).status == 1)
            #expect(
                try await laptop.welkin("login", "--email", "ada@example.com", input: ["battery staple"]).status == 0)

            let lost = try setup.machine("lost")
            let typo = try await lost.welkin(
                "recover", "--email", "ada@example.com",
                input: [(["zzzz"] + words.dropFirst()).joined(separator: " "), "third password"])
            #expect(typo.status == 1)
            let back = try await lost.welkin(
                "recover", "--email", "ada@example.com", input: [words.joined(separator: " "), "third password"])
            #expect(back.status == 0, "\(back.remarks)")
            #expect(try await lost.welkin("status").status == 0)
        }
    }

    @Test func `an account that the operator disables is restricted until it is enabled`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            #expect(try await setup.runAsOperator("account", "disable", "ada@example.com").status == 0)
            // Within five seconds (docs/threat-model.md); a restart of the cloud is faster.
            try setup.cloud.restart()
            let restricted = try await ada.welkin("status", "--json")
            #expect(restricted.status == 1)
            #expect(try restricted.decoded(Status.self).state == "restricted")
            #expect(try await ada.app().accountStatus() == .restricted)
            #expect(try await setup.runAsOperator("account", "enable", "ada@example.com").status == 0)
            try setup.cloud.restart()
            #expect(try await ada.welkin("status").status == 0)
            #expect(try await setup.runAsOperator("account", "disable", "nobody@example.com").status == 1)
        }
    }

    @Test func `logout removes credentials, keys, fetched files and opened links, here and at the cloud`()
        async throws
    {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            let laptop = try setup.machine("laptop")
            _ = try await laptop.welkin(
                "login", "--email", "ada@example.com", "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
            let letter = URL(fileURLWithPath: laptop.home + "/letter.txt")
            try Data("Dear diary".utf8).write(to: letter)
            let record = CKRecord(recordType: "Letter", recordID: CKRecord.ID(recordName: "l"))
            record["file"] = CKAsset(fileURL: letter)
            try await laptop.app().privateCloudDatabase.save(record)
            var held: CKRecord? = try await ada.app().privateCloudDatabase.record(for: record.recordID)
            let opened = try #require((held?["file"] as? CKAsset)?.fileURL)
            #expect(try Data(contentsOf: opened) == Data("Dear diary".utf8))
            let cached = ada.files(below: "cache").filter { $0.contains("/files/") }
            #expect(!cached.isEmpty)
            let profile = try ada.configuration().deviceProfile.folder
            try OpenedShares(profileFolder: profile).put(
                .init(link: "https://a/share/b#k=c", container: CloudAndMachines.container, environment: "development"))

            let out = try await ada.welkin("logout")
            #expect(out.status == 0)
            #expect(out.output == "Signed out.\n")
            #expect(ada.files(below: "cache").filter { $0.contains("/files/") }.isEmpty)
            // Files of a running app stay readable and are removed when it exits.
            #expect(try Data(contentsOf: opened) == Data("Dear diary".utf8))
            held = nil
            #expect(!FileManager.default.fileExists(atPath: opened.path))
            let left = ada.files(below: "data").map { $0.split(separator: "/").last ?? "" }
            #expect(
                !left.contains { $0 == "credentials.json" || $0.hasPrefix("keychain-") || $0 == "opened-shares.json" })
            #expect(try await ada.welkin("status").status == 1)
            let devices = try await laptop.welkin("devices", "list", "--json").decoded([ListedDevice].self)
            #expect(devices.count == 1)
            let twice = try await ada.welkin("logout")
            #expect(twice.status == 0)
            #expect(twice.remarks.contains("not signed in"))
        }
    }

    @Test func `the exit status distinguishes wrong usage from an unreachable cloud`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try setup.machine("ada")
            #expect(try await ada.welkin("status", "--nonsense").status == 64)
            #expect(try await ada.welkin("frobnicate").status == 64)
            let help = try await ada.welkin("--help")
            #expect(help.status == 0)
            for command in ["serve", "sign-up", "login", "logout", "devices", "open", "link-handler", "fault"] {
                #expect(help.output.contains("  " + command))
            }
            setup.cloud.kill()
            let login = try await ada.welkin("login", "--email", "ada@example.com", input: ["correct horse"])
            #expect(login.status == 1)
            #expect(login.remarks.contains("cannot be reached"))
        }
    }
}

private protocol DiscoveryForms: Sendable {
    func userRecordName(ofPhoneNumber number: String, in app: CKContainer) async throws -> String?
}

private struct DeprecatedForms: DiscoveryForms {
    @available(*, deprecated)
    func userRecordName(ofPhoneNumber number: String, in app: CKContainer) async throws -> String? {
        try await app.userIdentity(forPhoneNumber: number)?.userRecordID?.recordName
    }
}
