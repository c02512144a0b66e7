import Foundation
import Testing

@testable import CloudKit

/// Tests of faults that an operator injects for apps in development.
@Suite(.timeLimit(.minutes(20))) struct FaultCommandTests {
    private struct Ordered: Decodable, Sendable {
        var id: String
        var kind: String
    }

    @Test func `B-THR-02 an injected throttle reaches apps, is listed, and is removed`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            let ordered = try await setup.runAsOperator(
                "fault", "order", "throttle", CloudAndMachines.container, "--seconds", "600")
            #expect(ordered.status == 0, "\(ordered.remarks)")
            let listed = try await setup.runAsOperator("fault", "list", "--json").decoded([Ordered].self)
            #expect(listed.map(\.kind) == ["throttle"])
            #expect(ordered.output == listed[0].id + "\n")
            // A running cloud applies it within a second; a restarted one immediately.
            try setup.cloud.restart()
            let error = await #expect(throws: CKError.self) {
                try await ada.app().configuredWith { container in
                    let configuration = CKOperation.Configuration()
                    configuration.qualityOfService = .userInitiated
                    return try await container.configuredWith(configuration: configuration) {
                        _ = try await $0.privateCloudDatabase.allRecordZones()
                    }
                }
            }
            #expect(error?.code == .serviceUnavailable)
            #expect((error?.retryAfterSeconds ?? 0) > 0)
            #expect(try await setup.runAsOperator("fault", "remove", listed[0].id).status == 0)
            #expect(try await setup.runAsOperator("fault", "remove", listed[0].id).status == 1)
            #expect(try await setup.runAsOperator("fault", "list", "--json").decoded([Ordered].self).isEmpty)
            #expect(try await setup.runAsOperator("fault", "order", "quota", CloudAndMachines.container).status != 0)
        }
    }
}
