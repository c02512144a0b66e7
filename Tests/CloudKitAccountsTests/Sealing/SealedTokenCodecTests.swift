import CloudKitAccounts
import Testing

@Suite(.timeLimit(.minutes(20))) struct SealedTokenCodecTests {
    private let payload: [UInt8] = [1, 2, 3]

    private func codec(
        _ purpose: String = "test 1", secret: UInt8 = 7, derivation: SealedTokenCodec.KeyDerivation = .hkdf
    ) -> SealedTokenCodec {
        SealedTokenCodec(purpose: purpose, secret: Array(repeating: secret, count: 32), derivation: derivation)
    }

    @Test(arguments: [SealedTokenCodec.KeyDerivation.hkdf, .hmac])
    func `a sealed token opens in its context for its purpose, and shows nothing of its payload`(
        _ derivation: SealedTokenCodec.KeyDerivation
    ) throws {
        let token = try codec(derivation: derivation).seal(payload, context: [9])
        #expect(token.count == payload.count + SealedTokenCodec.overhead)
        #expect(codec(derivation: derivation).open(token, context: [9]) == payload)
        #expect(codec(derivation: derivation).open(token, context: [8]) == nil)
        #expect(codec("test 2", derivation: derivation).open(token, context: [9]) == nil)
        #expect(codec(secret: 8, derivation: derivation).open(token, context: [9]) == nil)
        for index in token.indices {
            var changed = token
            changed[index] ^= 1
            #expect(codec(derivation: derivation).open(changed, context: [9]) == nil)
            #expect(codec(derivation: derivation).open(Array(token.prefix(index)), context: [9]) == nil)
        }
    }

    @Test func `one key derivation is none of the other`() throws {
        let token = try codec(derivation: .hkdf).seal(payload)
        #expect(codec(derivation: .hmac).open(token) == nil)
    }

    @Test func `a text opens up to the length that is looked at`() throws {
        let text = try codec().sealText(payload)
        #expect(codec().openText(text, bytesMax: text.utf8.count) == payload)
        #expect(codec().openText(text, bytesMax: text.utf8.count - 1) == nil)
        #expect(codec().openText(text + "*", bytesMax: 100) == nil)
    }

    @Test func `a signed token begins with its payload, and every change is noticed`() {
        let token = codec().sign(payload, context: [9], checkBytes: 12)
        #expect(token.count == 15 && Array(token.prefix(3)) == payload)
        #expect(codec().verify(token, context: [9], checkBytes: 12) == payload)
        #expect(codec().verify(token, context: [8], checkBytes: 12) == nil)
        #expect(codec("test 2").verify(token, context: [9], checkBytes: 12) == nil)
        for index in token.indices {
            var changed = token
            changed[index] ^= 1
            #expect(codec().verify(changed, context: [9], checkBytes: 12) == nil)
            #expect(codec().verify(Array(token.prefix(index)), context: [9], checkBytes: 12) == nil)
        }
    }
}
