import CloudUnderTest
import Foundation
import Testing

/// Tests of following the directory of identities with the built program.
@Suite(.timeLimit(.minutes(20))) struct AuditCommandTests {
    @Test func `B-TM-04 an audit follows the directory as it grows`() async throws {
        try await CloudAndMachines.run { setup in
            let auditor = try setup.machine("auditor")
            let url = "http://127.0.0.1:\(setup.cloud.port)"
            let state = auditor.home + "/audit.json"
            _ = try await setup.signedInMachine("ada")
            let first = try await auditor.welkin("audit", url, "--state", state)
            #expect(first.status == 0, "\(first.remarks)")
            #expect(first.output.contains("since the first one"))
            _ = try await setup.signedInMachine("ben")
            let second = try await auditor.welkin("audit", url + "/", "--state", state)
            #expect(second.status == 0, "\(second.remarks)")
            #expect(second.output.contains("since the last audit"))
            #expect(second.output != first.output)
            let third = try await auditor.welkin("audit", url, "--state", state)
            #expect(third.output.contains("verified 0 new heads"))
        }
    }

    @Test func `B-TM-04 an audit refuses another directory in place of the one that it followed`() async throws {
        try await CloudAndMachines.run { setup in
            try await CloudAndMachines.run { other in
                let auditor = try setup.machine("auditor")
                _ = try await setup.signedInMachine("ada")
                _ = try await other.signedInMachine("eve")
                let url = "http://127.0.0.1:\(setup.cloud.port)"
                let state = auditor.home + "/audit.json"
                let otherURL = "http://127.0.0.1:\(other.cloud.port)"
                #expect(try await auditor.welkin("audit", url, "--state", state).status == 0)

                let mistaken = try await auditor.welkin("audit", otherURL, "--state", state)
                #expect(mistaken.status == 1)
                #expect(mistaken.remarks.contains("belongs to \(url)"))

                // The other cloud answers at the address of the first one.
                let file = URL(fileURLWithPath: state)
                let written = try Data(contentsOf: file)
                var content = try #require(try JSONSerialization.jsonObject(with: written) as? [String: Any])
                content["url"] = otherURL
                try JSONSerialization.data(withJSONObject: content).write(to: file)
                let replaced = try await auditor.welkin("audit", otherURL, "--state", state)
                #expect(replaced.status == 1)
                #expect(replaced.remarks.contains("as evidence"), "\(replaced.remarks)")

                try Data("{".utf8).write(to: file)
                let damaged = try await auditor.welkin("audit", url, "--state", state)
                #expect(damaged.status == 1)
                #expect(damaged.remarks.contains("is damaged"))
                let absent = try await auditor.welkin("audit", url + "/nothing", "--state", state + "-2")
                #expect(absent.status == 1)
                #expect(absent.remarks.contains("Check the address"))
            }
        }
    }
}
