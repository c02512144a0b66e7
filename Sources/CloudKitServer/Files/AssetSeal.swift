import CloudKitModel
import CloudKitRecordLayer
import Crypto

/// Seals tokens about files that clients bring back: only this cloud can make and read them.
package struct AssetSeal: Sendable {
    /// The use of a sealed text; one kind is never accepted as another.
    package enum Kind: String, Sendable, CaseIterable {
        /// In the URL of an upload.
        case upload
        /// In an asset dictionary that is to be saved.
        case receipt
        /// In the URL of a download.
        case download
    }

    private let keys: [Kind: SymmetricKey]
    private let random: @Sendable (Int) -> [UInt8]

    private static let textBytesMax = 8192

    package init(surroundings: Surroundings) {
        let secret = SymmetricKey(data: surroundings.secret)
        keys = Dictionary(
            uniqueKeysWithValues: Kind.allCases.map { kind in
                let info = Array("welkin asset \(kind.rawValue) 1".utf8)
                return (kind, HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: info, outputByteCount: 32))
            })
        random = surroundings.random
    }

    /// The text as it travels: letters, digits, `-` and `_`.
    func seal(_ content: [UInt8], as kind: Kind) throws -> String {
        guard let key = keys[kind] else { throw RequestFailure(.internalError, "internal error") }
        let nonce = try AES.GCM.Nonce(data: random(12))
        let box = try AES.GCM.seal(content, using: key, nonce: nonce)
        return Base64URL.encode(Array(box.nonce) + Array(box.ciphertext) + Array(box.tag))
    }

    /// nil for anything but what was sealed here, as this kind.
    func open(_ text: String, as kind: Kind) -> ValueReader? {
        guard text.utf8.count <= Self.textBytesMax, let bytes = Base64URL.decode(text), let key = keys[kind],
            let box = try? AES.GCM.SealedBox(combined: bytes), let plain = try? AES.GCM.open(box, using: key)
        else { return nil }
        return ValueReader(Array(plain), of: .asset)
    }
}
