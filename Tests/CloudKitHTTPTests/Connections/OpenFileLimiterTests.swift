import CloudKitModel
import Testing

@testable import CloudKitHTTP

/// The files that transfers have open.
@Suite(.timeLimit(.minutes(20))) struct OpenFileLimiterTests {
    @Test func `a transfer beyond the limit is asked to come back, until another one ends`() throws {
        let files = OpenFileLimiter(filesMax: 2)
        let first = try files.permission()
        var second: OpenFileLimiter.Permission? = try files.permission()
        let refused = #expect(throws: RequestFailure.self) { try files.permission() }
        #expect(refused?.code == .tryAgainLater)
        #expect(refused?.retryAfter == 2)
        withExtendedLifetime(second) {}
        second = nil
        let third = try files.permission()
        withExtendedLifetime((first, third)) {}
    }

    @Test func `an upload beyond the limit leaves nothing open`() async throws {
        var connections = ConnectionLimits()
        connections.filesMax = 0
        try await TestCloud.run(CloudConfiguration(port: 0, connections: connections)) { cloud in
            let url = try await cloud.uploadURL(try await cloud.signIn())
            let refused = try await cloud.client.post(url, "file")
            #expect(refused.status == 503)
            #expect(refused.headers["retry-after"] == "2")
            #expect(try await cloud.files.drafts() == [])
        }
    }
}
