import CloudKitClient
import CloudKitModel
import Foundation
import ScriptedCloud
import Testing

@testable import CloudKit

/// Requests to documented web services, as they leave the device (docs/web-services.md §17).
@Suite(.timeLimit(.minutes(20))) struct WebServicesCallTests {
    private func container(_ transport: ScriptedTransport, account: ScriptedAccount = ScriptedAccount()) -> CKContainer
    {
        CKContainer(
            identifier: "iCloud.com.example.app", endpoint: "https://cloud.test", account: account,
            transport: transport, surface: .webServices(WebServicesAccess()),
            clientEnvironment: ScriptedClock().clientEnvironment)
    }

    /// Answers requests about records with a closure, and says who the user is.
    private func transport(_ records: @escaping ScriptedTransport.Answer) -> ScriptedTransport {
        ScriptedTransport { request in
            request.url.path.hasSuffix("users/caller") ? .user("_me") : try await records(request)
        }
    }

    @Test func `B-ACC-02 without a web auth token nothing is sent, and the error says where to write one`()
        async throws
    {
        let transport = transport(ScriptedTransport.findsAll)
        let database = container(transport, account: .signedOut).privateCloudDatabase
        let error = await #expect(throws: CKError.self) {
            _ = try await database.record(for: CKRecord.ID(recordName: "a"))
        }
        #expect(error?.code == .notAuthenticated)
        #expect(error.map { "\($0)".contains("CLOUDKIT_WEB_AUTH_TOKEN_FILE") } == true, "\(String(describing: error))")
        #expect(transport.requests.isEmpty)
    }

    @Test func `a request carries the user's token, and no headers of the framework's own`() async throws {
        let transport = transport(ScriptedTransport.findsAll)
        _ = try await container(transport).privateCloudDatabase.record(for: CKRecord.ID(recordName: "a"))
        let request = try #require(transport.requests.first { $0.url.path.hasSuffix("records/lookup") })
        #expect(request.item("ckWebAuthToken") == "web")
        #expect(!request.headers.keys.contains { $0.hasPrefix("X-Welkin") })
    }

    @Test func `B-BAT-11 a client change token is not sent, since web services know none`() async throws {
        for isNative in [true, false] {
            let transport = transport(ScriptedTransport.savesAll)
            let container =
                isNative
                ? CKContainer.scripted(transport, account: ScriptedAccount(secret: SampleKeys.secret))
                : container(transport)
            let ended: Result<Void, any Error> = await withCheckedContinuation { continuation in
                let operation = CKModifyRecordsOperation(recordsToSave: [CKRecord(recordType: "Note")])
                operation.clientChangeTokenData = Data([1, 2, 3])
                operation.modifyRecordsResultBlock = { continuation.resume(returning: $0) }
                container.publicCloudDatabase.add(operation)
            }
            try ended.get()
            let request = try #require(transport.requests.first { $0.url.path.hasSuffix("records/modify") })
            #expect(try request.modification().clientChangeToken == (isNative ? [1, 2, 3] : nil))
        }
    }
}
