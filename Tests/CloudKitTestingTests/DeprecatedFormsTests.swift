import CloudKit
import CloudKitTesting
import Testing

/// The deprecated names that tests of apps may call. Tests cannot be deprecated themselves; they call these through a protocol.
@Suite(.timeLimit(.minutes(20))) struct DeprecatedFormsTests {
    private static let forms: any OlderForms = OlderCode()

    @Test(arguments: [true, false])
    func `B-THR-02 the older names of faults refuse requests until they end`(hasRetryTime: Bool) async throws {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user("ada")
            let container = "iCloud.com.example.notes"
            let database = try await ada.device().container(container).privateCloudDatabase
            let orders: [() async throws -> Void] = [
                { try await Self.forms.takeDown(cloud, hasRetryTime: hasRetryTime) },
                { try await Self.forms.throttle(ada, of: cloud, in: container, hasRetryTime: hasRetryTime) },
            ]
            for order in orders {
                try await order()
                let refusal = await #expect(throws: CKError.self) { _ = try await database.allRecordZones() }
                #expect(refusal?.code == .serviceUnavailable)
                #expect((refusal?.retryAfterSeconds != nil) == hasRetryTime)
                try await Self.forms.endFaults(of: cloud)
                cloud.clock.advance(by: .seconds(61))
                _ = try await database.allRecordZones()
            }
        }
    }

    @Test func `B-THR-02 the older name for removing faults ends an outage`() async throws {
        try await TestCloud.run { cloud in
            let database = try await cloud.user().device().container("iCloud.com.example.notes").privateCloudDatabase
            try await cloud.takeDown(for: 60, sendsRetryAfter: false)
            await #expect(throws: CKError.self) { _ = try await database.allRecordZones() }
            try await Self.forms.endFaults(of: cloud)
            _ = try await database.allRecordZones()
        }
    }
}

private protocol OlderForms: Sendable {
    func takeDown(_ cloud: TestCloud, hasRetryTime: Bool) async throws
    func throttle(_ user: TestUser, of cloud: TestCloud, in container: String, hasRetryTime: Bool) async throws
    func endFaults(of cloud: TestCloud) async throws
}

private struct OlderCode: OlderForms {
    @available(*, deprecated)
    func takeDown(_ cloud: TestCloud, hasRetryTime: Bool) async throws {
        try await cloud.takeDown(for: 60, tellsWait: hasRetryTime)
    }

    @available(*, deprecated)
    func throttle(_ user: TestUser, of cloud: TestCloud, in container: String, hasRetryTime: Bool) async throws {
        try await cloud.throttle(user, in: container, for: 60, tellsWait: hasRetryTime)
    }

    @available(*, deprecated)
    func endFaults(of cloud: TestCloud) async throws { try await cloud.endTrouble() }
}
