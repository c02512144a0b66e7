import CloudUnderTest
import Foundation
import Testing

@testable import CloudKit

/// Tests of `welkin account quota` with the built program beside a running cloud.
@Suite(.timeLimit(.minutes(20))) struct QuotaCommandTests {
    private struct ListedAccount: Decodable {
        var email: String
        var quota: String
    }

    private func save(_ name: String, bytes: Int, on machine: Machine) async throws {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
        record["text"] = String(repeating: "x", count: bytes)
        try await machine.app().privateCloudDatabase.save(record)
    }

    @Test func `B-LIM-16 the operator gives one account its own quota, which a running cloud applies`() async throws {
        try await CloudAndMachines.run(serving: ["--quota-bytes", "20000"]) { setup in
            let ada = try await setup.signedInMachine("ada")
            let ben = try await setup.signedInMachine("ben")
            let shown = try await setup.runAsOperator("account", "quota", "ada@example.com")
            #expect(shown.status == 0 && shown.output == "default\n", "\(shown.remarks)")
            try await save("first", bytes: 1000, on: ada)

            let set = try await setup.runAsOperator("account", "quota", "ADA@example.com", "5000")
            #expect(set.status == 0 && set.output == "Quota of ADA@example.com: 5000.\n", "\(set.remarks)")
            // A running cloud applies it within a second; a restart is faster to wait for.
            try setup.cloud.restart()
            let error = await #expect(throws: CKError.self) { try await save("large", bytes: 8000, on: ada) }
            #expect(error?.code == .quotaExceeded)
            #expect(error?.retryAfterSeconds == 300)
            try await save("large", bytes: 8000, on: ben)
            let listed = try await setup.runAsOperator("account", "list", "--json").decoded([ListedAccount].self)
            #expect(listed.map(\.email) == ["ada@example.com", "ben@example.com"])
            #expect(listed.map(\.quota) == ["5000", "default"])
            #expect(try await setup.runAsOperator("account", "list").output.contains("QUOTA"))

            #expect(try await setup.runAsOperator("account", "quota", "ada@example.com", "none").status == 0)
            try setup.cloud.restart()
            try await save("larger", bytes: 30_000, on: ada)
            let others = await #expect(throws: CKError.self) { try await save("larger", bytes: 30_000, on: ben) }
            #expect(others?.code == .quotaExceeded)

            #expect(try await setup.runAsOperator("account", "quota", "ada@example.com", "default").status == 0)
            #expect(try await setup.runAsOperator("account", "quota", "ada@example.com").output == "default\n")

            // Of one container: for each account, and for one.
            let container = CloudAndMachines.container
            let each = try await setup.runAsOperator("account", "quota", "--container", container, "100")
            #expect(
                each.status == 0 && each.output == "Quota of each account in \(container): 100.\n", "\(each.remarks)")
            #expect(try await setup.runAsOperator("account", "quota", "--container", container).output == "100\n")
            let bens = try await setup.runAsOperator(
                "account", "quota", "ben@example.com", "none", "--container", container)
            #expect(bens.status == 0, "\(bens.remarks)")
            try setup.cloud.restart()
            let full = await #expect(throws: CKError.self) { try await save("largest", bytes: 1000, on: ada) }
            #expect(full?.code == .quotaExceeded)
            try await save("largest", bytes: 30_000, on: ben)
            let refused = try await setup.runAsOperator("account", "quota", "--container", container, "lots")
            #expect(refused.status == 64, "\(refused.remarks)")
        }
    }

    @Test func `a quota that is no number and an account that does not exist are refused`() async throws {
        try await CloudAndMachines.run { setup in
            let added = try await setup.runAsOperator(
                "account", "add", "ada@example.com", "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
            #expect(added.status == 0, "\(added.remarks)")
            for wrong in ["lots", "1.5", "10MB", "18446744073709551616", ""] {
                let refused = try await setup.runAsOperator("account", "quota", "ada@example.com", wrong)
                #expect(refused.status == 64, "\(wrong)")
                #expect(refused.remarks.contains("none: no limit"), "\(refused.remarks)")
            }
            #expect(try await setup.runAsOperator("account", "quota", "ada@example.com", "--", "-1").status == 64)
            #expect(try await setup.runAsOperator("account", "quota", "ada@example.com").output == "default\n")
            let unknown = try await setup.runAsOperator("account", "quota", "eve@example.com", "5")
            #expect(unknown.status == 1)
            #expect(unknown.remarks.contains("There is no account for eve@example.com"), "\(unknown.remarks)")
            #expect(try await setup.runAsOperator("account", "quota").status == 64)
            let most = try await setup.runAsOperator("account", "quota", "ada@example.com", "18446744073709551615")
            #expect(most.status == 0, "\(most.remarks)")
            #expect(
                try await setup.runAsOperator("account", "quota", "ada@example.com").output == "18446744073709551615\n")
        }
    }
}
