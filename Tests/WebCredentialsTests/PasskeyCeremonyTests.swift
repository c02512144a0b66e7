import Crypto
import SeededChance
import SimulatedSigners
import Testing
import WebCredentials

/// Passkeys that are made and used, by true authenticators and others.
@Suite(.timeLimit(.minutes(20))) struct PasskeyCeremonyTests {
    private static let challenge = [UInt8](repeating: 7, count: 40)

    private var party: RelyingParty { get throws { try #require(RelyingParty(url: "https://cloud.example.com")) } }

    private func register(_ authenticator: SimulatedAuthenticator) throws -> PasskeyKey {
        let made = try authenticator.register(Self.challenge)
        let ceremony = PasskeyCeremony(clientData: made.clientData, party: try party)
        #expect(try ceremony.challenge == Self.challenge)
        return try ceremony.registered(attestation: made.attestation)
    }

    private func use(_ authenticator: SimulatedAuthenticator, of key: PasskeyKey) throws -> PasskeyKey {
        let used = try authenticator.use(Self.challenge)
        return try PasskeyCeremony(clientData: used.clientData, party: try party)
            .asserted(by: key, authenticatorData: used.authenticatorData, signature: used.signature)
    }

    @Test(arguments: SigningKey.Kind.allCases)
    func `a passkey of every algorithm is made and used`(_ kind: SigningKey.Kind) throws {
        var authenticator = SimulatedAuthenticator(key: try .key(kind))
        let key = try register(authenticator)
        #expect(key.id == authenticator.id && key.counter == 0 && !key.isBackedUp)
        #expect(try use(authenticator, of: key) == key)
        authenticator.flags = 0x1D
        #expect(try use(authenticator, of: key).isBackedUp)
        authenticator.key = try .key(kind, mark: 2)
        #expect(throws: CredentialError.signature) { try use(authenticator, of: key) }
    }

    /// Changes to an authenticator or browser, with what is wrong then.
    private static let lies:
        [(name: String, error: CredentialError, change: @Sendable (inout SimulatedAuthenticator) -> Void)] = [
            ("another page", .claim("origin"), { $0.origin = "https://evil.example.com" }),
            ("another port", .claim("origin"), { $0.origin = "https://cloud.example.com:8443" }),
            ("plain HTTP", .claim("origin"), { $0.origin = "http://cloud.example.com" }),
            ("a frame in another page", .claim("origin"), { $0.more = #","crossOrigin":true"# }),
            ("a frame, by its top", .claim("origin"), { $0.more = #","topOrigin":"https://evil.example.com""# }),
            ("another party", .claim("party"), { $0.party = "example.com" }),
            ("nobody there", .claim("user verification"), { $0.flags = 0x04 }),
            ("nobody verified", .claim("user verification"), { $0.flags = 0x01 }),
            ("another kind of work", .claim("type"), { $0.type = "payment.get" }),
            ("a backup of what has none", .malformed("a backup of what has none"), { $0.flags = 0x15 }),
        ]

    @Test(arguments: lies.indices) func `a lie is noticed, at registration and at use`(_ index: Int) throws {
        let lie = Self.lies[index]
        let honest = SimulatedAuthenticator(key: try .key(.es256))
        let key = try register(honest)
        var lying = honest
        lie.change(&lying)
        #expect(throws: lie.error, "\(lie.name)") { try register(lying) }
        #expect(throws: lie.error, "\(lie.name)") { try use(lying, of: key) }
    }

    @Test func `a registration is no use, and a use no registration`() throws {
        let authenticator = SimulatedAuthenticator(key: try .key(.es256))
        let key = try register(authenticator)
        let made = try authenticator.register(Self.challenge)
        let used = try authenticator.use(Self.challenge)
        #expect(throws: CredentialError.claim("type")) {
            try PasskeyCeremony(clientData: used.clientData, party: try party).registered(attestation: made.attestation)
        }
        #expect(throws: CredentialError.claim("type")) {
            try PasskeyCeremony(clientData: made.clientData, party: try party)
                .asserted(by: key, authenticatorData: used.authenticatorData, signature: used.signature)
        }
    }

    @Test func `a counter has to grow, once it counts`() throws {
        var authenticator = SimulatedAuthenticator(key: try .key(.eddsa))
        authenticator.counter = 5
        let key = try register(authenticator)
        #expect(throws: CredentialError.claim("counter")) { try use(authenticator, of: key) }
        authenticator.counter = 0
        #expect(throws: CredentialError.claim("counter")) { try use(authenticator, of: key) }
        authenticator.counter = 6
        let used = try use(authenticator, of: key)
        #expect(used.counter == 6)
        #expect(throws: CredentialError.claim("counter")) { try use(authenticator, of: used) }
    }

    @Test func `keys of other algorithms and points off the curve are refused`() throws {
        var cose = try SigningKey.key(.es256).cose
        cose[4] = 0x37
        #expect(throws: CredentialError.algorithm) { try SignatureKey(cose: CBORValue(cose)) }
        var off = try SigningKey.key(.es256).cose
        off[off.count - 1] ^= 1
        #expect(throws: CredentialError.malformed("no point of P-256")) { try SignatureKey(cose: CBORValue(off)) }
        var short = try SigningKey.key(.rs256).cose
        // A modulus of 2,041 bits.
        short[11] = 0
        #expect(throws: CredentialError.malformed("no key of RSA")) { try SignatureKey(cose: CBORValue(short)) }
    }

    @Test func `no input makes the readers crash, and no changed use is accepted`() throws {
        let authenticator = SimulatedAuthenticator(key: try .key(.es256))
        let key = try register(authenticator)
        let made = try authenticator.register(Self.challenge)
        let used = try authenticator.use(Self.challenge)
        let party = try party
        var chance = SplitMix64(seed: 4)
        for _ in 0..<20_000 {
            var attestation = made.attestation
            var data = used.authenticatorData
            for _ in 0..<Int.random(in: 1...4, using: &chance) {
                attestation[Int.random(in: 0..<attestation.count, using: &chance)] = UInt8.random(
                    in: 0...255, using: &chance)
                data[Int.random(in: 0..<data.count, using: &chance)] ^= UInt8.random(in: 1...255, using: &chance)
            }
            attestation = Array(attestation.prefix(Int.random(in: 0...attestation.count, using: &chance)))
            _ = try? PasskeyCeremony(clientData: made.clientData, party: party).registered(attestation: attestation)
            guard data != used.authenticatorData else { continue }
            #expect(throws: CredentialError.self) {
                try PasskeyCeremony(clientData: used.clientData, party: party)
                    .asserted(by: key, authenticatorData: data, signature: used.signature)
            }
        }
    }

    @Test func `CBOR is read as it is written, and nothing endless or too deep`() throws {
        #expect(try CBORValue([0x18, 0x64]) == .unsigned(100))
        #expect(try CBORValue([0x39, 0x01, 0x00]).integer == -257)
        #expect(
            try CBORValue([0xA1, 0x61, 0x61, 0x82, 0xF5, 0xF6]) == .map([.text("a"): .array([.boolean(true), .null])]))
        #expect(try CBORValue([0x3B] + [UInt8](repeating: 0xFF, count: 8)).integer == nil)
        let refused: [[UInt8]] = [
            [], [0x18], [0x42, 1], [0x5F, 0xFF], [0x9B] + [UInt8](repeating: 0xFF, count: 8),
            [0xFB, 0, 0, 0, 0, 0, 0, 0, 0],
            [0xC0, 0x00], [0x00, 0x00], [0x61, 0xFF], [0xA2, 0x01, 0x01, 0x01, 0x02],
            [UInt8](repeating: 0x81, count: 20) + [0x00],
        ]
        for bytes in refused { #expect(throws: CredentialError.self, "\(bytes)") { try CBORValue(bytes) } }
    }

    @Test(arguments: [
        ("https://cloud.example.com", "cloud.example.com", "https://cloud.example.com"),
        ("https://Cloud.example.com:443", "cloud.example.com", "https://cloud.example.com"),
        ("https://cloud.example.com:8443", "cloud.example.com", "https://cloud.example.com:8443"),
        ("http://localhost:8080", "localhost", "http://localhost:8080"),
    ])
    func `the party is the host, and its page the whole address`(_ url: String, _ id: String, _ origin: String) throws {
        let party = try #require(RelyingParty(url: url))
        #expect(party.id == id)
        #expect(party.origin == origin)
    }

    @Test(arguments: [
        "http://cloud.example.com", "https://127.0.0.1:8080", "https://[::1]", "cloud.example.com", "https://a/b",
        "https://",
        "http://localhost.evil.example",
    ])
    func `addresses at which browsers have no passkeys have no party`(_ url: String) {
        #expect(RelyingParty(url: url) == nil)
    }
}
