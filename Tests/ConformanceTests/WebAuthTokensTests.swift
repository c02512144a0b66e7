import Testing

@testable import CloudKit

/// Tokens that devices fetch for web pages and servers.
@Suite(.timeLimit(.minutes(20))) struct WebAuthTokensTests {
    private static let password = "correct horse"

    private static func token(_ container: CKContainer, beside apiToken: String?) async throws -> String {
        let operation = CKFetchWebAuthTokenOperation()
        operation.apiToken = apiToken
        operation.database = container.privateCloudDatabase
        return try await withCheckedThrowingContinuation { continuation in
            operation.fetchWebAuthTokenResultBlock = { continuation.resume(with: $0) }
            container.privateCloudDatabase.add(operation)
        }
    }

    @Test func `B-ACC-09 a fetched web auth token acts for the user together with its API token only`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = SigningDevice(cloud)
            _ = try await device.signUp(Self.password)
            let other = try await cloud.newAPIToken()
            let token = try await Self.token(device.container, beside: other)
            let web = cloud.device(showing: token, beside: other)
            #expect(try await web.userRecordID() == device.container.userRecordID())
            let record = CKRecord(recordType: "T", recordID: .init(recordName: "r"))
            _ = try await web.privateCloudDatabase.save(record)
            #expect(try await device.container.privateCloudDatabase.record(for: record.recordID).recordType == "T")

            let misplaced = await #expect(throws: CKError.self) {
                try await cloud.device(showing: token).userRecordID()
            }
            #expect(misplaced?.code == .notAuthenticated)
            // It ends with the device's session.
            try await device.signIn.signOut(container: cloud.container)
            await #expect(throws: CKError.self) { try await web.userRecordID() }
        }
    }

    @Test func `an API token of another container, none, and a device without a user are distinguished`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = SigningDevice(cloud)
            _ = try await device.signUp(Self.password)
            for wrong in ["", "nonsense", try await cloud.newAPIToken(container: "iCloud.com.example.other")] {
                let error = await #expect(throws: CKError.self) {
                    try await Self.token(device.container, beside: wrong)
                }
                #expect(error?.code == .invalidArguments)
            }
            #expect(try await device.container.accountStatus() == .available)
            let mine = try await cloud.newAPIToken()
            let nobody = await #expect(throws: CKError.self) {
                try await Self.token(cloud.strangersDevice(), beside: mine)
            }
            #expect(nobody?.code == .notAuthenticated)
        }
    }

    @Test func `the older block gets the token or the error`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = SigningDevice(cloud)
            _ = try await device.signUp(Self.password)
            for (apiToken, works) in [(try await cloud.newAPIToken(), true), ("nonsense", false)] {
                let operation = CKFetchWebAuthTokenOperation(apiToken: apiToken)
                let (token, error): (String?, (any Error)?) = await withCheckedContinuation { continuation in
                    operation.fetchWebAuthTokenCompletionBlock = { continuation.resume(returning: ($0, $1)) }
                    device.container.privateCloudDatabase.add(operation)
                }
                #expect((token != nil) == works)
                #expect((error == nil) == works)
            }
        }
    }
}
