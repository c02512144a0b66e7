import Crypto

/// A key that derives many others, with the part of each derivation that depends on the key alone done beforehand.
///
/// As secret as the key itself; printing it shows nothing.
struct KeyDerivation: Sendable {
    private let prepared: HMAC<SHA256>

    init(_ key: SymmetricKey) { prepared = HMAC(key: key) }

    /// HKDF-Expand with SHA-256 to 32 bytes, whose single block is one HMAC.
    func derive(_ info: Frame) -> KeyMaterial {
        var message = info.bytes
        message.append(1)
        var code = prepared
        code.update(data: message)
        return KeyMaterial(code.finalize())
    }
}

extension KeyDerivation: CustomStringConvertible, CustomReflectable {
    var description: String { "(secret)" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
