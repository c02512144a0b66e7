import CloudKitModel
import Crypto

/// A salted hash of a proof that is derived from a secret of full entropy.
struct ProofHash: Codable, Hashable, Sendable {
    private var salt: [UInt8]
    private var hash: [UInt8]

    init(_ proof: [UInt8], salt: [UInt8]) {
        self.salt = salt
        hash = Self.digest(proof, salt: salt)
    }

    /// Returns whether this is the hash of a proof, in constant time.
    func matches(_ proof: [UInt8]) -> Bool { isEqualInConstantTime(Self.digest(proof, salt: salt), hash) }

    static func digest(_ proof: [UInt8], salt: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: salt + proof)) }
}

/// The size of every proof, whether derived from a password or from recovery words.
enum ProofBounds {
    static let bytes = 32

    /// - Throws: `badRequest` for what no device derives.
    static func check(_ proof: [UInt8]) throws(RequestFailure) {
        guard proof.count == bytes else { throw RequestFailure(.badRequest, "a proof has 32 bytes") }
    }
}
