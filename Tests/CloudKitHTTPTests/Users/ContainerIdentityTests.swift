import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import Testing

/// The names of one account in two containers, as apps see them over HTTP.
@Suite(.timeLimit(.minutes(20))) struct ContainerIdentityTests {
    private static let containers = ["iCloud.com.example.notes", "iCloud.com.example.chess"]

    /// Signs Ada in to a container.
    ///
    /// - Returns: The query with her tokens, and her name there.
    private func signIn(_ cloud: TestCloud, to container: String) async throws -> (query: String, name: String) {
        let api = try await cloud.accountStore.apiTokens.create(
            container: ContainerID(container), environment: .development, name: "")
        let answer = try await cloud.client.post(
            "/device/1/\(container)/development/sessions/create?ckAPIToken=\(api.token)",
            #"{"email":"ada@example.com","proof":"\#(TestCloud.proofText)","deviceName":"Test","lifetime":"device"}"#)
        let web = try #require(answer["ckWebAuthToken"] as? String)
        let name = try #require(answer["userRecordName"] as? String)
        return (TestCloud.Tokens(api: api.token, web: web).query, name)
    }

    @Test func `a name of one container finds no one in another`() async throws {
        try await TestCloud.run { cloud in
            _ = try await cloud.signIn()
            let notes = try await signIn(cloud, to: Self.containers[0])
            let chess = try await signIn(cloud, to: Self.containers[1])
            #expect(notes.name != chess.name)
            for (name, isKnown) in [(chess.name, true), (notes.name, false)] {
                let participants = try await cloud.client.post(
                    "/database/1/\(Self.containers[1])/development/public/users/lookup/participants\(chess.query)",
                    #"{"lookupInfos":[{"userRecordName":"\#(name)"}]}"#)
                #expect(participants.status == 200)
                let identity = participants["participants", "0", "userIdentity"] as? [String: Any]
                #expect((identity?["userRecordName"] as? String == name) == isKnown, "\(participants.body)")
                #expect(identity != nil)
                let identities = try await cloud.client.post(
                    "/device/1/\(Self.containers[1])/development/identities/lookup\(chess.query)",
                    #"{"userRecordNames":["\#(name)"]}"#)
                #expect(identities.status == 200)
                // An account without a keychain has none.
                #expect((identities["identities"] as? [Any])?.isEmpty == true)
            }
        }
    }
}
