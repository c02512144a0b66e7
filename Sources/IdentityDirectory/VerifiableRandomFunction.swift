import Crypto

/// The verifiable random function ECVRF-EDWARDS25519-SHA512-TAI (RFC 9381 §5).
///
/// Only the holder of the key computes it, and for each input there is one output that its public key verifies.
package struct VerifiableRandomFunction: Sendable {
    /// Bytes of a proof.
    package static let proofByteCount = 80
    private static let suite: UInt8 = 3
    private static let challengeByteCount = 16

    private let scalar: [UInt8]
    private let nonceKey: [UInt8]
    private let publicPoint: CurvePoint
    /// The key with which others verify: 32 bytes.
    package let publicKey: [UInt8]

    /// - Parameter seed: The secret key, 32 bytes.
    package init(seed: [UInt8]) {
        let hash = Array(SHA512.hash(data: seed))
        var scalar = Array(hash.prefix(32))
        scalar[0] &= 0xF8
        scalar[31] &= 0x7F
        scalar[31] |= 0x40
        self.scalar = scalar
        nonceKey = Array(hash.suffix(32))
        publicPoint = CurvePoint.base.multiplied(bySecret: scalar)
        publicKey = publicPoint.bytes
    }

    /// Returns the proof of the output for an input: 80 bytes.
    package func prove(_ input: [UInt8]) -> [UInt8] {
        let hashed = Self.hashToCurve(input, publicKey: publicKey)
        let hashedBytes = hashed.bytes
        let gamma = hashed.multiplied(bySecret: scalar)
        let nonce = CurveScalar(reducing: Array(SHA512.hash(data: nonceKey + hashedBytes)))
        let challenge = Self.challenge([
            publicKey, hashedBytes, gamma.bytes, CurvePoint.base.multiplied(bySecret: nonce.bytes).bytes,
            hashed.multiplied(bySecret: nonce.bytes).bytes,
        ])
        let answer = nonce + CurveScalar(reducing: challenge) * CurveScalar(reducing: scalar)
        return gamma.bytes + challenge + answer.bytes
    }

    /// Returns the output that a proof belongs to, without verifying the proof: 64 bytes.
    ///
    /// - Returns: nil for bytes that are no proof.
    package static func output(of proof: [UInt8]) -> [UInt8]? {
        guard proof.count == proofByteCount, let gamma = CurvePoint(bytes: Array(proof.prefix(32))) else { return nil }
        return output(gamma)
    }

    /// Verifies a proof.
    ///
    /// - Returns: The output of the function for the input, 64 bytes; nil if the proof is not one for it.
    package static func verify(_ proof: [UInt8], of input: [UInt8], publicKey: [UInt8]) -> [UInt8]? {
        guard proof.count == proofByteCount, let key = CurvePoint(bytes: publicKey), !key.timesCofactor.isIdentity,
            let gamma = CurvePoint(bytes: Array(proof.prefix(32))),
            let answer = CurveScalar(canonical: Array(proof.suffix(32)))
        else { return nil }
        let challenge = Array(proof[32..<32 + challengeByteCount])
        let hashed = hashToCurve(input, publicKey: publicKey)
        let one = CurvePoint.sum(.base, times: answer.bytes, plus: -key, times: challenge)
        let other = CurvePoint.sum(hashed, times: answer.bytes, plus: -gamma, times: challenge)
        let expected = Self.challenge([publicKey, hashed.bytes, gamma.bytes, one.bytes, other.bytes])
        return expected == challenge ? output(gamma) : nil
    }

    private static func output(_ gamma: CurvePoint) -> [UInt8] {
        Array(SHA512.hash(data: [suite, 3] + gamma.timesCofactor.bytes + [0]))
    }

    private static func challenge(_ points: [[UInt8]]) -> [UInt8] {
        Array(SHA512.hash(data: [suite, 2] + points.flatMap { $0 } + [0]).prefix(challengeByteCount))
    }

    /// Returns the first point that a hash of the input and a counter encodes (RFC 9381 §5.4.1.1).
    private static func hashToCurve(_ input: [UInt8], publicKey: [UInt8]) -> CurvePoint {
        for counter in UInt8.min...UInt8.max {
            let hash = SHA512.hash(data: [suite, 1] + publicKey + input + [counter, 0])
            guard let point = CurvePoint(bytes: Array(hash.prefix(32)))?.timesCofactor, !point.isIdentity else {
                continue
            }
            return point
        }
        // Each attempt succeeds with probability 1/2: no input is known, or ever will be, for which all 256 fail.
        return .identity
    }
}
