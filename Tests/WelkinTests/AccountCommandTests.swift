import CloudKitDevice
import CloudUnderTest
import Foundation
import Testing

@testable import CloudKit

/// Accounts and devices as people handle them, with the built program and a cloud in a process of its own.
@Suite struct AccountCommandTests {
    @Test func `sign up, see how it stands, and sign a second device in with the password alone`() async throws {
        try await Town.run { town in
            let phone = try town.machine("phone")
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

            let laptop = try town.machine("laptop")
            let login = try await laptop.welkin(
                "login", "--email", "ada@example.com", "--device-name", "Laptop", "--json", input: ["correct horse"])
            #expect(login.status == 0, "\(login.remarks)")
            let second = try login.decoded(Status.self)
            #expect(second.fingerprint == first.fingerprint)
            #expect(second.recoveryWords == nil)
            // Apps find the keys: what one seals the other opens.
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

    @Test func `who has signed in need not say again where`() async throws {
        try await Town.run { town in
            var ada = try await town.newcomer("ada")
            for name in ["CLOUDKIT_ENDPOINT", "CLOUDKIT_CONTAINER", "CLOUDKIT_API_TOKEN"] { ada.variables[name] = "" }
            let status = try await ada.welkin("status", "--json")
            #expect(status.status == 0, "\(status.remarks)")
            #expect(try status.decoded(Status.self).email == "ada@example.com")
            #expect(try await ada.welkin("devices").output.contains("(this one)"))
            #expect(try await town.operate("account", "disable", "ada@example.com").status == 0)
            while try await ada.welkin("status").status == 0 {}
            #expect(try await ada.welkin("status", "--json").decoded(Status.self).state == "restricted")
            var nobody = try town.machine("nobody")
            nobody.variables["CLOUDKIT_ENDPOINT"] = ""
            #expect(try await nobody.welkin("status").remarks.contains("No cloud is configured"))
        }
    }

    @Test func `a data folder that cannot be used, or has its cloud, is named`() async throws {
        try await Town.run { town in
            let again = try await town.operate("serve", "--port", "0")
            #expect(again.status == 1)
            #expect(again.remarks.contains("a cloud runs on \(town.cloud.data) already"))
            let desk = town.operatorsMachine
            let file = desk.home + "/no folder"
            #expect(FileManager.default.createFile(atPath: file, contents: nil))
            let refused = try await desk.welkin("account", "list", "--data", file)
            #expect(refused.status == 1)
            #expect(refused.remarks.contains("the data folder \(file) cannot be used"))
            let missing = try await town.operate(
                "record", "show", Town.container, "Notes", "n", "--user", "_nobody")
            #expect(missing.remarks.contains("Zone does not exist. Create the zone first."))
        }
    }

    /// What a cloud has told whoever started it; it does so before it answers anybody.
    private func said(by cloud: CloudProcess) throws -> String {
        try String(contentsOfFile: cloud.log, encoding: .utf8)
    }

    @Test func `only serve begins a cloud, below a folder that is there, and says so`() async throws {
        try await Town.run { town in
            #expect(try said(by: town.cloud).contains("a new, empty cloud; data in \(town.cloud.data)\n"))
            try town.cloud.restart()
            #expect(try said(by: town.cloud).contains("\ndata in \(town.cloud.data)\n"))
            let desk = town.operatorsMachine
            let mistyped = try await desk.welkin("account", "list", "--data", desk.home + "/dtaa")
            #expect(mistyped.status == 1)
            #expect(mistyped.remarks.contains("there is no cloud in \(desk.home)/dtaa; say with --data"))
            #expect(!desk.exists("dtaa"))
            let served = try await desk.welkin("serve", "--port", "0", "--data", desk.home + "/clouds/one")
            #expect(served.status == 1)
            #expect(served.remarks.contains("/clouds for the data folder \(desk.home)/clouds/one; make it first"))
            #expect(!desk.exists("clouds"))
        }
    }

    @Test func `a cloud is called new until there is something in it, also after a start that failed`() async throws {
        try await Town.run { town in
            let cloud = try CloudProcess()
            defer { cloud.end() }
            cloud.kill()
            for path in [cloud.data, cloud.log] { try FileManager.default.removeItem(atPath: path) }
            let desk = town.operatorsMachine
            let failed = try await desk.welkin(
                "serve", "--data", cloud.data, "--port", String(town.cloud.port), "--web-push", "on")
            #expect(failed.status == 1)
            #expect(failed.remarks.contains("Port \(town.cloud.port) of 127.0.0.1 is taken."))
            try cloud.restart()
            #expect(try said(by: cloud).contains("a new, empty cloud; data in \(cloud.data)\n"))
            cloud.kill()
            try FileManager.default.removeItem(atPath: cloud.log)
            let token = try await desk.welkin("token", "create", Town.container, "--data", cloud.data)
            #expect(token.status == 0, "\(token.remarks)")
            try cloud.restart()
            #expect(try said(by: cloud).contains("\ndata in \(cloud.data)\n"))
        }
    }

    @Test func `a wrong password signs nobody in, keeps nothing and is shown nowhere`() async throws {
        try await Town.run { town in
            _ = try await town.newcomer("ada")
            let other = try town.machine("other")
            let login = try await other.welkin(
                "login", "--email", "ada@example.com", "--rounds", Town.rounds, input: ["wrong horse"])
            #expect(login.status == 1)
            #expect(!login.remarks.isEmpty)
            #expect(!(login.output + login.remarks).contains("wrong horse"))
            #expect(!other.files(below: "data").contains { $0.hasSuffix("credentials.json") })
            #expect(try await other.welkin("status", "--json").decoded(Status.self).state == "noAccount")
            let unknown = try await other.welkin(
                "login", "--email", "nobody@example.com", "--rounds", Town.rounds, input: ["wrong horse"])
            #expect(unknown.status == 1)
            // Who has no account and who has a wrong password are told the same.
            #expect(unknown.remarks == login.remarks)
            #expect(try await other.welkin("login", "--email", "ada@example.com", input: [""]).status == 64)
        }
    }

    @Test func `a new password, and the way back with the recovery words`() async throws {
        try await Town.run { town in
            let phone = try town.machine("phone")
            let made = try await phone.welkin(
                "sign-up", "--email", "ada@example.com", "--json", input: ["correct horse"])
            let words = try #require(try made.decoded(Status.self).recoveryWords)
            let refused = try await phone.welkin("password", input: ["wrong horse", "battery staple"])
            #expect(refused.status == 1)
            let changed = try await phone.welkin("password", input: ["correct horse", "battery staple"])
            #expect(changed.status == 0, "\(changed.remarks)")
            #expect(try await phone.welkin("status").status == 0)
            let laptop = try town.machine("laptop")
            #expect(
                try await laptop.welkin("login", "--email", "ada@example.com", input: ["correct horse"]).status == 1)
            #expect(
                try await laptop.welkin("login", "--email", "ada@example.com", input: ["battery staple"]).status == 0)

            let lost = try town.machine("lost")
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

    @Test func `an account that the operator switches off is restricted, and comes back`() async throws {
        try await Town.run { town in
            let ada = try await town.newcomer("ada")
            #expect(try await town.operate("account", "disable", "ada@example.com").status == 0)
            // Within five seconds (docs/threat-model.md); a start of the cloud anew is sooner.
            try town.cloud.restart()
            let restricted = try await ada.welkin("status", "--json")
            #expect(restricted.status == 1)
            #expect(try restricted.decoded(Status.self).state == "restricted")
            #expect(try await ada.app().accountStatus() == .restricted)
            #expect(try await town.operate("account", "enable", "ada@example.com").status == 0)
            try town.cloud.restart()
            #expect(try await ada.welkin("status").status == 0)
            #expect(try await town.operate("account", "disable", "nobody@example.com").status == 1)
        }
    }

    @Test func `logout takes credentials, keys, fetched files and opened links along, here and at the cloud`()
        async throws
    {
        try await Town.run { town in
            let ada = try await town.newcomer("ada")
            let laptop = try town.machine("laptop")
            _ = try await laptop.welkin(
                "login", "--email", "ada@example.com", "--rounds", Town.rounds, input: ["correct horse"])
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
                .init(link: "https://a/share/b#k=c", container: Town.container, environment: "development"))

            let out = try await ada.welkin("logout")
            #expect(out.status == 0)
            #expect(out.output == "Signed out.\n")
            #expect(ada.files(below: "cache").filter { $0.contains("/files/") }.isEmpty)
            // What a running app still holds stays readable for it, and goes with it.
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

    @Test func `wrong usage, and a cloud that is not there, are told apart by the exit status`() async throws {
        try await Town.run { town in
            let ada = try town.machine("ada")
            #expect(try await ada.welkin("status", "--nonsense").status == 64)
            #expect(try await ada.welkin("frobnicate").status == 64)
            let help = try await ada.welkin("--help")
            #expect(help.status == 0)
            for command in ["serve", "sign-up", "login", "logout", "devices", "open", "link-handler", "fault"] {
                #expect(help.output.contains("  " + command))
            }
            town.cloud.kill()
            let login = try await ada.welkin("login", "--email", "ada@example.com", input: ["correct horse"])
            #expect(login.status == 1)
            #expect(login.remarks.contains("cannot be reached"))
        }
    }
}
