import CloudKit
import CloudUnderTest
import Foundation
import Testing

/// `welkin logs` and `welkin alerts` by the built program.
@Suite(.timeLimit(.minutes(10)))
struct LogsCommandTests {
    @Test func `a CKError's request is explained by welkin logs`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            let database = try ada.app().privateCloudDatabase
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "Twice"))
            try await database.save(record)
            var found: CKError?
            do {
                try await database.save(CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "Twice")))
            } catch let error as CKError {
                found = error
            }
            let uuid = try #require(found?.userInfo["RequestUUID"] as? String)
            // Entries are written each second.
            var text = ""
            for _ in 0..<100 where !text.contains("B-ERR-10") {
                text = try await Self.run(["logs", "--request", uuid], setup).output
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(text.contains(uuid) && text.contains("B-ERR-10"))
            #expect(text.contains("Twice") && text.contains("RECORD TYPE Note (") && text.contains("remedy"))
            let listed = try await Self.run(
                ["logs", "--operation", "records/modify", "--failed", "--json", "--from", "1h"], setup)
            #expect(listed.output.split(separator: "\n").count == 1 && listed.output.contains(uuid))
            #expect(!listed.output.contains("ada@"))
            let owner = try await ada.app().userRecordID().recordName
            let place = ["logs", "--container", CloudAndMachines.container, "--owner", owner]
            let named = try await Self.run(place + ["--history", "Twice"], setup)
            #expect(
                named.output.split(separator: "\n").count { $0.contains("records/modify") } == 2, "\(named.remarks)")
            #expect(try await Self.run(place + ["--history", "Once"], setup).output.isEmpty)
            #expect(try await Self.run(["logs", "--history", "Twice"], setup).status != 0)
            #expect(try await Self.run(["logs", "--status", "x"], setup).status != 0)
            let mode = try FileManager.default.attributesOfItem(atPath: setup.cloud.data + "/logs.sqlite")
            #expect(mode[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func `commands beside the cloud leave entries, without addresses and tokens`() async throws {
        try await CloudAndMachines.run { setup in
            let added = try await setup.runAsOperator("account", "disable", "nobody@example.com")
            #expect(added.status != 0)
            _ = try await setup.signedInMachine("ada")
            for order in [["account", "disable", "ada@example.com"], ["account", "enable", "ada@example.com"]] {
                #expect(try await Self.run(order, setup).status == 0)
            }
            let token = try await Self.run(["token", "create", CloudAndMachines.container], setup).output
            let listed = try await Self.run(["logs", "--kind", "operator", "--json", "--limit", "200"], setup)
            let entries = listed.output.split(separator: "\n").map(String.init)
            func lines(_ operation: String) -> [String] {
                entries.filter { $0.contains("\"operation\":\"\(operation)\"") }
            }
            #expect(lines("accounts/disable").count == 2 && lines("accounts/enable").count == 1)
            #expect(lines("accounts/disable").count { $0.contains("\"code\":\"refused\"") } == 1)
            #expect(
                lines("accounts/enable").allSatisfy { $0.contains("\"account\":") && $0.contains("command of user") })
            #expect(lines("tokens/api/create").count == 2)
            #expect(lines("tokens/api/create").allSatisfy { $0.contains(CloudAndMachines.container) })
            #expect(!listed.output.contains("@example.com"))
            #expect(!listed.output.contains(token.trimmingCharacters(in: .whitespacesAndNewlines)))
            // The cloud goes on writing the same file.
            var signIns = ""
            for _ in 0..<100 where !signIns.contains("sessions/create") {
                signIns = try await Self.run(["logs", "--kind", "sign-in"], setup).output
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(signIns.contains("sessions/create"))
        }
    }

    @Test func `rules for alerts are added, listed without secrets, and removed`() async throws {
        try await CloudAndMachines.run { setup in
            let added = try await Self.run(
                [
                    "alerts", "add", "errors", "--measure", "errors", "--above", "5", "--action", "log", "--action",
                    "https://hooks.example/secret",
                ], setup)
            #expect(added.status == 0, "\(added.remarks)")
            let listed = try await Self.run(["alerts", "list"], setup).output
            #expect(listed.contains("errors") && listed.contains("https://hooks.example/…"))
            #expect(!listed.contains("secret"))
            let wrong = try await Self.run(["alerts", "add", "x", "--measure", "errors"], setup)
            #expect(wrong.status != 0 && wrong.remarks.contains("above"))
            #expect(try await Self.run(["alerts", "remove", "errors"], setup).status == 0)
            #expect(try await Self.run(["alerts", "remove", "errors"], setup).status != 0)
        }
    }

    private static func run(_ arguments: [String], _ setup: CloudAndMachines) async throws -> Machine.Outcome {
        try await Machine.run(
            [try #require(CloudProcess.program())] + arguments + ["--data", setup.cloud.data], variables: [:],
            in: setup.cloud.folder)
    }
}
