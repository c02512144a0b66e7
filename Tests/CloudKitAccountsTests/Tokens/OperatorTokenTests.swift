import CloudKitAccounts
import CloudKitModel
import Testing

@Suite(.timeLimit(.minutes(20))) struct OperatorTokenTests {
    @Test func `a token is good until it is revoked, and only its hash is kept`() async throws {
        let people = TestAccounts()
        let tokens = people.store.operatorTokens
        #expect(try await tokens.standing(of: String(repeating: "a", count: 64)) == .off)
        let (token, row) = try await tokens.create(name: "CI")
        let (second, _) = try await tokens.create(name: "")
        #expect(try await tokens.standing(of: token) == .good(row))
        for wrong in [nil, "", String(token.dropLast()), token.uppercased() + "", String(token.reversed()), row.hash] {
            guard wrong != token else { continue }
            #expect(try await tokens.standing(of: wrong) == .refused)
        }
        for entry in try await people.entries(prefix: "operator-token/") {
            #expect(!entry.key.contains(token) && !String(decoding: entry.value, as: UTF8.self).contains(token))
        }
        #expect(try await tokens.revoke("").isEmpty)
        #expect(try await tokens.revoke(row.id).map(\.id) == [row.id])
        #expect(try await tokens.standing(of: token) == .refused)
        #expect(try await tokens.revoke(second).count == 1)
        #expect(try await tokens.standing(of: second) == .off)
        #expect(try await tokens.list().map(\.isRevoked) == [true, true])
    }

    @Test func `a token of one container reaches no other`() async throws {
        let people = TestAccounts()
        let tokens = people.store.operatorTokens
        let (token, _) = try await tokens.create(name: "developer", container: ContainerID("iCloud.a"))
        let (_, whole) = try await tokens.create(name: "operator")
        guard case .good(let row) = try await tokens.standing(of: token) else {
            Issue.record("the token is refused")
            return
        }
        #expect(row.container == "iCloud.a")
        #expect(row.reaches(ContainerID("iCloud.a")))
        for other in ["iCloud.b", "iCloud.a.b", "icloud.a", ""] { #expect(!row.reaches(ContainerID(other))) }
        #expect(whole.container == nil && whole.reaches(ContainerID("iCloud.b")))
    }

    @Test func `there are at most 100, with names of at most 100 bytes`() async throws {
        let people = TestAccounts()
        let tokens = people.store.operatorTokens
        await #expect(throws: RequestFailure.self) {
            _ = try await tokens.create(name: String(repeating: "ä", count: 51))
        }
        for _ in 0..<100 { _ = try await tokens.create(name: "") }
        await #expect(throws: RequestFailure.self) { _ = try await tokens.create(name: "") }
    }
}
