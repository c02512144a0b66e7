import Crypto
import Foundation

/// 32 secret bytes, used either to derive keys or to seal, never for both; printing them shows nothing.
struct KeyMaterial: Equatable, Sendable {
    static let byteCount = 32
    /// The bytes that sealing adds: a nonce of 12 bytes in front, a tag of 16 behind.
    static let overhead = 28

    private let key: SymmetricKey

    init(_ bytes: some ContiguousBytes) { key = SymmetricKey(data: bytes) }

    init(_ bytes: ArraySlice<UInt8>) { key = SymmetricKey(data: Array(bytes)) }

    var bytes: [UInt8] { key.withUnsafeBytes { Array($0) } }

    /// HKDF-Expand with SHA-256 to 32 bytes, whose single block is one HMAC.
    func derive(_ info: Frame) -> KeyMaterial { derivation.derive(info) }

    /// The same for a key that derives many others.
    var derivation: KeyDerivation { KeyDerivation(key) }

    /// AES-256-GCM: nonce, ciphertext, tag, behind `header`.
    func seal(
        _ plain: some DataProtocol, header: [UInt8] = [], authenticating frame: Frame, item: EncryptionError.Item,
        random: Randomness
    ) throws(EncryptionError) -> [UInt8] {
        do {
            let nonce = random.bytes(12)
            let box = try AES.GCM.seal(
                plain, using: key, nonce: AES.GCM.Nonce(data: nonce), authenticating: frame.bytes)
            guard let combined = box.combined else { throw CryptoKitError.incorrectParameterSize }
            // Written once, in its place: this runs for every value.
            var sealed: [UInt8] = []
            sealed.reserveCapacity(header.count + combined.count)
            sealed += header
            combined.withUnsafeBytes { sealed.append(contentsOf: $0) }
            return sealed
        } catch {
            throw .malformed(item, reason: "it cannot be sealed")
        }
    }

    /// Opens nonce, ciphertext and tag.
    func open(
        _ sealed: ArraySlice<UInt8>, authenticating frame: Frame, item: EncryptionError.Item
    ) throws(EncryptionError) -> [UInt8] {
        guard sealed.count >= Self.overhead else { throw .truncated(item) }
        do {
            let box = try AES.GCM.SealedBox(combined: sealed)
            return try AES.GCM.open(box, using: key, authenticating: frame.bytes).withUnsafeBytes { Array($0) }
        } catch {
            throw .doesNotOpen(item)
        }
    }

    /// A key under this key: 60 bytes.
    func wrap(
        _ other: KeyMaterial, authenticating frame: Frame, item: EncryptionError.Item, random: Randomness
    ) throws(EncryptionError) -> [UInt8] {
        try seal(other.bytes, authenticating: frame, item: item, random: random)
    }

    func unwrap(
        _ wrapped: ArraySlice<UInt8>, authenticating frame: Frame, item: EncryptionError.Item
    ) throws(EncryptionError) -> KeyMaterial {
        let bytes = try open(wrapped, authenticating: frame, item: item)
        guard bytes.count == Self.byteCount else { throw .malformed(item, reason: "a key has 32 bytes") }
        return KeyMaterial(bytes)
    }

    static let wrappedByteCount = byteCount + overhead
}

extension KeyMaterial: CustomStringConvertible, CustomReflectable {
    var description: String { "(secret)" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
