import CloudKitEncryption
import Testing

@Suite(.timeLimit(.minutes(20))) struct AccountSecretTests {
    private let fixtures = Fixtures()

    @Test func `B-E2E-06 the password and the recovery key both open the account secret`() throws {
        let password = try PasswordRoot(password: "correct horse", salt: [1, 2, 3], rounds: 10).wrappingKey
        let recovery = RecoveryKey(random: fixtures.random).wrappingKey
        for key in [password, recovery] {
            let sealed = try fixtures.secret.sealed(under: key, account: "a-1")
            #expect(sealed.count == 61)
            #expect(try AccountSecret(sealed: sealed, under: key, account: "a-1") == fixtures.secret)
        }
    }

    @Test func `B-TM-12 another password, another account, another purpose or a changed byte is an error`() throws {
        let key = try PasswordRoot(password: "correct horse", salt: [1], rounds: 10).wrappingKey
        let other = try PasswordRoot(password: "correct house", salt: [1], rounds: 10).wrappingKey
        let sealed = try fixtures.secret.sealed(under: key, account: "a-1")
        let refusal = EncryptionError.doesNotOpen(.accountSecret)
        #expect(throws: refusal) { try AccountSecret(sealed: sealed, under: other, account: "a-1") }
        #expect(throws: refusal) { try AccountSecret(sealed: sealed, under: key, account: "a-2") }
        var changed = sealed
        changed[40] ^= 1
        #expect(throws: refusal) { try AccountSecret(sealed: changed, under: key, account: "a-1") }
        #expect(throws: EncryptionError.truncated(.accountSecret)) {
            try AccountSecret(sealed: Array(sealed.prefix(20)), under: key, account: "a-1")
        }
        #expect(throws: EncryptionError.unknownVersion(.accountSecret, 9)) {
            try AccountSecret(sealed: [9] + sealed.dropFirst(), under: key, account: "a-1")
        }
    }

    @Test func `one computation gives the proof and the key, and they have nothing in common`() throws {
        let root = try PasswordRoot(password: "é", salt: [1], rounds: 10)
        let composed = try PasswordRoot(password: "e\u{301}", salt: [1], rounds: 10)
        #expect(root.proof == composed.proof)
        #expect(root.proof.count == 32)
        #expect(root.wrappingKey == composed.wrappingKey)
        #expect(throws: EncryptionError.self) { try PasswordRoot(password: "x", salt: [1], rounds: 0) }
    }

    @Test func `secrets do not show when printed`() throws {
        let digits = fixtures.secret.bytes.map(String.init).joined(separator: ", ")
        for value: Any in [fixtures.secret, fixtures.root, fixtures.zoneKey(), fixtures.sealer()] {
            var dumped = ""
            dump(value, to: &dumped)
            #expect(!dumped.contains(digits))
            #expect(!"\(value)".contains(digits))
        }
        #expect("\(fixtures.secret)".contains("(secret)"))
        // What is prepared for derivations is as secret as the key.
        var dumped = ""
        dump(fixtures.zoneKey(), to: &dumped)
        #expect(dumped.contains("(secret)") && !dumped.contains("Hasher"))
    }

    @Test func `a secret has 32 bytes`() throws {
        #expect(try AccountSecret(bytes: fixtures.secret.bytes) == fixtures.secret)
        #expect(throws: EncryptionError.self) { try AccountSecret(bytes: [1, 2, 3]) }
    }
}
