import Crypto
import SeededChance
import Testing

@testable import IdentityDirectory

@Suite(.timeLimit(.minutes(20))) struct VerifiableRandomFunctionTests {
    struct Vector: Sendable {
        var seed: String
        var publicKey: String
        var input: String
        var proof: String
        var output: String
    }

    /// RFC 9381, appendix B.3, examples 16 to 18.
    static let vectors = [
        Vector(
            seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", input: "",
            proof: "8657106690b5526245a92b003bb079ccd1a92130477671f6fc01ad16f26f723f26f8a57ccaed74ee1b190bed1f479d97"
                + "27d2d0f9b005a6e456a35d4fb0daab1268a1b0db10836d9826a528ca76567805",
            output: "90cf1df3b703cce59e2a35b925d411164068269d7b2d29f3301c03dd757876ff66b71dda49d2de59d03450451af02679"
                + "8e8f81cd2e333de5cdf4f3e140fdd8ae"),
        Vector(
            seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", input: "72",
            proof: "f3141cd382dc42909d19ec5110469e4feae18300e94f304590abdced48aed5933bf0864a62558b3ed7f2fea45c92a465"
                + "301b3bbf5e3e54ddf2d935be3b67926da3ef39226bbc355bdc9850112c8f4b02",
            output: "eb4440665d3891d668e7e0fcaf587f1b4bd7fbfe99d0eb2211ccec90496310eb5e33821bc613efb94db5e5b54c70a848"
                + "a0bef4553a41befc57663b56373a5031"),
        Vector(
            seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", input: "af82",
            proof: "9bc0f79119cc5604bf02d23b4caede71393cedfbb191434dd016d30177ccbf8096bb474e53895c362d8628ee9f9ea3c0"
                + "e52c7a5c691b6c18c9979866568add7a2d41b00b05081ed0f58ee5e31b3a970e",
            output: "645427e5d00c62a23fb703732fa5d892940935942101e456ecca7bb217c61c452118fec1219202a0edcf038bb6373241"
                + "578be7217ba85a2687f7a0310b2df19f"),
    ]

    @Test(arguments: vectors) func `the function gives the proofs and outputs of RFC 9381`(_ vector: Vector) {
        let function = VerifiableRandomFunction(seed: bytes(vector.seed))
        #expect(function.publicKey.hex == vector.publicKey)
        let proof = function.prove(bytes(vector.input))
        #expect(proof.hex == vector.proof)
        #expect(VerifiableRandomFunction.output(of: proof)?.hex == vector.output)
        let verified = VerifiableRandomFunction.verify(
            proof, of: bytes(vector.input), publicKey: function.publicKey)
        #expect(verified?.hex == vector.output)
    }

    @Test func `a proof with another bit, input or key is refused`() {
        let function = VerifiableRandomFunction(seed: bytes(Self.vectors[0].seed))
        let input = Array("alice@example.org".utf8)
        let proof = function.prove(input)
        for position in [0, 20, 31, 32, 40, 47, 48, 60, 79] {
            var changed = proof
            changed[position] ^= 1
            #expect(VerifiableRandomFunction.verify(changed, of: input, publicKey: function.publicKey) == nil)
        }
        #expect(VerifiableRandomFunction.verify(proof, of: input + [0], publicKey: function.publicKey) == nil)
        let other = VerifiableRandomFunction(seed: bytes(Self.vectors[1].seed))
        #expect(VerifiableRandomFunction.verify(proof, of: input, publicKey: other.publicKey) == nil)
        #expect(VerifiableRandomFunction.verify([], of: input, publicKey: function.publicKey) == nil)
    }

    @Test func `a key of small order and an answer beyond the order are refused`() {
        // With the neutral element as the key and as gamma, every challenge is answered by anyone.
        var neutral = [UInt8](repeating: 0, count: 32)
        neutral[0] = 1
        let forged = neutral + [UInt8](repeating: 0, count: 48)
        #expect(VerifiableRandomFunction.verify(forged, of: [1], publicKey: neutral) == nil)
        let vector = Self.vectors[0]
        var proof = bytes(vector.proof)
        // The same answer modulo the order is not accepted a second time.
        let order = bytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
        var carry = 0
        for position in 0..<32 {
            let sum = Int(proof[48 + position]) + Int(order[position]) + carry
            proof[48 + position] = UInt8(sum & 0xFF)
            carry = sum >> 8
        }
        #expect(VerifiableRandomFunction.verify(proof, of: [], publicKey: bytes(vector.publicKey)) == nil)
    }

    @Test func `public keys are those of Ed25519 for random seeds`() throws {
        var chance = SplitMix64(seed: 14)
        for _ in 0..<8 {
            let seed = (0..<32).map { _ in UInt8.random(in: 0...255, using: &chance) }
            let key = try Curve25519.Signing.PrivateKey(rawRepresentation: seed)
            #expect(VerifiableRandomFunction(seed: seed).publicKey == Array(key.publicKey.rawRepresentation))
        }
    }
}

/// Reads hexadecimal digits.
func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue).map(UInt8.init)
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}
