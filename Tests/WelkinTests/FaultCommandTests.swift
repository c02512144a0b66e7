import Foundation
import Testing

@testable import CloudKit

/// Trouble that an operator orders for apps in development.
@Suite struct FaultCommandTests {
    private struct Ordered: Decodable, Sendable {
        var id: String
        var kind: String
    }

    @Test func `B-THR-02 a throttle that is ordered reaches apps, is listed, and is taken back`() async throws {
        try await Town.run { town in
            let ada = try await town.newcomer("ada")
            let ordered = try await town.operate("fault", "order", "throttle", Town.container, "--seconds", "600")
            #expect(ordered.status == 0, "\(ordered.remarks)")
            let listed = try await town.operate("fault", "list", "--json").decoded([Ordered].self)
            #expect(listed.map(\.kind) == ["throttle"])
            #expect(ordered.output == listed[0].id + "\n")
            // A running cloud notices within a second; one that starts knows at once.
            try town.cloud.restart()
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
            #expect(try await town.operate("fault", "remove", listed[0].id).status == 0)
            #expect(try await town.operate("fault", "remove", listed[0].id).status == 1)
            #expect(try await town.operate("fault", "list", "--json").decoded([Ordered].self).isEmpty)
            #expect(try await town.operate("fault", "order", "quota", Town.container).status != 0)
        }
    }
}
