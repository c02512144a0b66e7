import CloudKitEncryption
import Foundation
import SeededChance
import Testing

@Suite(.timeLimit(.minutes(20))) struct IdentityTests {
    private let fixtures = Fixtures()

    @Test func `every device of an account has the same identity`() throws {
        let here = try fixtures.secret.identity().publicIdentity
        let there = try AccountSecret(bytes: fixtures.secret.bytes).identity().publicIdentity
        #expect(here == there)
        #expect(try PublicIdentity(bytes: there.bytes) == here)
        #expect(here.bytes.count == PublicIdentity.byteCount)
    }

    @Test func `B-TM-08 keys of two identities cannot be mixed`() throws {
        let ada = try fixtures.secret.identity().publicIdentity.bytes
        let eve = try AccountSecret(random: fixtures.random).identity().publicIdentity.bytes
        let mixed = Array(ada[..<33] + eve[33..<65] + ada[65...])
        #expect(throws: EncryptionError.badSignature(.identity)) { try PublicIdentity(bytes: mixed) }
        #expect(throws: EncryptionError.truncated(.identity)) { try PublicIdentity(bytes: Array(ada.dropLast())) }
        #expect(throws: EncryptionError.unknownVersion(.identity, 2)) {
            try PublicIdentity(bytes: [2] + ada.dropFirst())
        }
        #expect(throws: EncryptionError.self) { try PublicIdentity(bytes: ada + [0]) }
    }

    @Test func `B-TM-08 a user's key is pinned at first sight, and a replaced one is an error`() throws {
        let ada = try fixtures.secret.identity().publicIdentity
        let eve = try AccountSecret(random: fixtures.random).identity().publicIdentity
        var pins = IdentityPins()
        #expect(try pins.check(ada, of: "c/_ada"))
        #expect(try !pins.check(ada, of: "c/_ada"))
        #expect(try pins.check(eve, of: "c/_eve"))
        pins = try JSONDecoder().decode(IdentityPins.self, from: JSONEncoder().encode(pins))
        let refusal = EncryptionError.identityReplaced(
            user: "c/_ada", pinned: ada.fingerprint, offered: eve.fingerprint)
        #expect(throws: refusal) { try pins.check(eve, of: "c/_ada") }
        #expect(pins.fingerprint(of: "c/_ada") == ada.fingerprint)
        pins.replace(with: eve, of: "c/_ada")
        #expect(try !pins.check(eve, of: "c/_ada"))
        pins.forget("c/_ada")
        #expect(try pins.check(ada, of: "c/_ada"))
    }

    @Test func `a fingerprint is short enough to be read out`() throws {
        let text = try fixtures.secret.identity().publicIdentity.fingerprint.description
        #expect(text.split(separator: " ").map(\.count) == Array(repeating: 4, count: 8))
    }

    @Test func `pins of a damaged file are refused`() {
        #expect(throws: (any Error).self) {
            try JSONDecoder().decode(IdentityPins.self, from: Data(#"{"known":{"c/_ada":"xyz"}}"#.utf8))
        }
    }
}
