import CloudKitAccounts
import CloudKitModel
import Crypto
import Foundation
import Testing

/// Signed requests (docs/web-services.md §2.4).
@Suite(.timeLimit(.minutes(20))) struct ServerSignatureTests {
    static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEjIDUKWz5bI2Rq7a3IgN3p9eiHTKk
        jy4k+NTulFjUblLdc2UjbtKLbjeOF/S1cdKj6CjlFZ4R5HdnK01mIiGKzw==
        -----END PUBLIC KEY-----
        """
    static let vector = ServerSignature(
        keyID: "", date: "2016-01-25T22:15:43Z",
        signature: "MEYCIQDJbSzmBPn085e5o95hepqJec5C9mh0N6GiEbUE/L1XGQIhAOe89CoIsH1KMZ3QV0mHIvwVBb6Yi9cCtfvJI++/UtXO")
    static let target = "/database/1/iCloud.com.example.app/development/public/records/query"
    static let body = Array(#"{"query":{"recordType":"Note"}}"#.utf8)

    @Test func `the known signature is good`() {
        #expect(Self.vector.isValid(publicKey: Self.publicKey, target: Self.target, body: Self.body))
    }

    @Test func `with anything changed it is not`() {
        var otherDate = Self.vector
        otherDate.date = "2016-01-25T22:15:44Z"
        var otherSignature = Self.vector
        otherSignature.signature = otherSignature.signature.replacing("MEYC", with: "MEYD")
        #expect(!otherDate.isValid(publicKey: Self.publicKey, target: Self.target, body: Self.body))
        #expect(!otherSignature.isValid(publicKey: Self.publicKey, target: Self.target, body: Self.body))
        #expect(!Self.vector.isValid(publicKey: Self.publicKey, target: Self.target + "x", body: Self.body))
        #expect(!Self.vector.isValid(publicKey: Self.publicKey, target: Self.target, body: Self.body + [32]))
        #expect(!Self.vector.isValid(publicKey: "", target: Self.target, body: Self.body))
    }

    @Test func `clients may sign the path with or without the query, and nothing for an empty body`() throws {
        let key = P256.Signing.PrivateKey()
        for digest in [Data(SHA256.hash(data: [])).base64EncodedString(), ""] {
            for signed in ["/database/x", "/database/x?a=b"] {
                let text = "2016-01-25T22:15:43Z:\(digest):\(signed)"
                let signature = ServerSignature(
                    keyID: "", date: "2016-01-25T22:15:43Z",
                    signature: try key.signature(for: Data(text.utf8)).derRepresentation.base64EncodedString())
                #expect(
                    signature.isValid(
                        publicKey: key.publicKey.pemRepresentation, target: "/database/x?a=b", body: []))
            }
        }
    }

    @Test(arguments: [
        ("2016-01-25T22:15:43Z", 0), ("2016-01-25T22:25:43Z", 0), ("2016-01-25T22:05:43Z", 0),
        ("2016-01-25T23:15:43+01:00", 0), ("2016-01-25T22:15:43.250Z", 0), ("2016-01-25T22:25:44Z", 1),
        ("2016-01-25T22:05:42Z", 1), ("2016-01-25", 1), ("", 1), ("yesterday", 1), ("2016-13-25T22:15:43Z", 1),
    ])
    func `a date is good for ten minutes either way`(date: String, outcome: Int) {
        let signature = ServerSignature(keyID: "", date: date, signature: "")
        #expect(signature.isWithinTolerance(now: 1_453_760_143_000) == (outcome == 0))
    }

    @Test func `B-ACC-09 a registered key is one user of its container`() async throws {
        let people = TestAccounts()
        let key = P256.Signing.PrivateKey()
        let row = try await people.keys.add(
            publicKey: key.publicKey.pemRepresentation, container: people.container, environment: .development,
            name: "")
        people.clock.advance(1_453_760_143_000 - people.clock.now)
        let text = "2016-01-25T22:15:43Z:\(Data(SHA256.hash(data: Self.body)).base64EncodedString()):\(Self.target)"
        let signature = ServerSignature(
            keyID: row.id, date: "2016-01-25T22:15:43Z",
            signature: try key.signature(for: Data(text.utf8)).derRepresentation.base64EncodedString())
        func admit(_ environment: Environment = .development) async throws -> AuthenticatedCaller {
            try await people.authenticator().admit(
                RequestCredentials(signature: signature), container: people.container, environment: environment,
                target: Self.target
            ) { Self.body }
        }
        let admission = try await admit()
        #expect(admission.isServerKey)
        #expect(admission.user?.recordName == row.userRecordName)
        await #expect(throws: RequestFailure.self) { try await admit(.production) }
        people.clock.advance(600_001)
        await #expect(throws: RequestFailure.self) { try await admit() }
        people.clock.advance(-600_001)
        #expect(try await people.keys.revoke(String(row.id.prefix(8))).count == 1)
        await #expect(throws: RequestFailure.self) { try await admit() }
    }

    @Test func `a key that is not P-256 is not registered`() async throws {
        let people = TestAccounts()
        await #expect(throws: ServerKeyError.self) {
            try await people.keys.add(
                publicKey: "hello", container: people.container, environment: .development, name: "")
        }
    }
}
