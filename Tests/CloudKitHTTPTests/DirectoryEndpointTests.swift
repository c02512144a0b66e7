import CloudKitAccounts
import CloudKitWire
import Foundation
import IdentityDirectory
import Testing

@testable import CloudKitHTTP

/// The directory of identities over HTTP.
@Suite(.timeLimit(.minutes(20))) struct DirectoryEndpointTests {
    private static func lookup(_ tokens: TestCloud.Tokens) -> String {
        "/device/1/\(TestCloud.container)/development/directory/lookup\(tokens.query)"
    }

    @Test func `a look-up needs a user, and its answer verifies`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let body = #"{"addresses":[" Nobody@Example.com "],"userRecordNames":["_x"],"heads":[0,7]}"#
            let response = try await cloud.client.post(Self.lookup(tokens), body)
            #expect(response.status == 200)
            let answer = try DirectoryLookupAnswer(wireAnswer: Array(response.body.utf8))
            let keys = try DirectoryKeys(bytes: answer.keys)
            let head = try DirectoryHead(bytes: answer.head)
            try head.verify(keys)
            #expect(answer.proofs.count == 2)
            #expect(answer.heads.count == 1)
            let proof = try DirectoryProof(bytes: try #require(answer.proofs.first))
            #expect(
                try proof.verify(.address("nobody@example.com"), root: head.root, functionKey: keys.function) == nil)
            #expect(
                try await cloud.client.post(Self.lookup(.init(api: tokens.api)), body).status == 421)
        }
    }

    @Test func `malformed and excessive look-ups are refused`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let many = (0..<33).map { "\"\($0)\"" }.joined(separator: ",")
            let bodies = [
                #"{"heads":[-1]}"#, #"{"addresses":"a"}"#, #"{"userRecordNames":[1]}"#, "{\"addresses\":[\(many)]}",
                #"{"heads":[0,0,0,0,0,0,0,0,0]}"#, #"{"addresses":["\#(String(repeating: "a", count: 5000))"]}"#,
            ]
            for body in bodies {
                #expect(try await cloud.client.post(Self.lookup(tokens), body).status == 400, "\(body.prefix(40))")
            }
        }
    }

    @Test func `auditors follow the history without a token`() async throws {
        try await TestCloud.run { cloud in
            _ = try await cloud.signIn()
            let response = try await cloud.client.get("/directory/history?from=0")
            #expect(response.status == 200)
            let audit = try await DirectoryAudit.following(from: nil) { number in
                let response = try await cloud.client.get("/directory/history?from=\(number)")
                return try JSONDecoder().decode(DirectoryHistoryAnswer.self, from: Data(response.body.utf8))
            }
            #expect(audit.head?.number == 0)
            for query in ["", "?from=", "?from=-1", "?from=x"] {
                #expect(try await cloud.client.get("/directory/history" + query).status == 400)
            }
        }
    }
}
