import Crypto
import TextEncodings

/// Makes the tokens of one purpose, which only this cloud can make, and opens them.
///
/// A *sealed* token is encrypted: its holder cannot read the payload. A *signed* token is the payload with a check value behind it. Either is
/// bound to a context, which the token does not contain: opened in another context, it is refused.
package struct SealedTokenCodec: Sendable {
    /// The way from the cloud's secret to the key of a purpose. Tokens live long, so each purpose keeps the way it began with.
    package enum KeyDerivation: Sendable {
        /// HKDF-SHA-256 with the purpose as `info`.
        case hkdf
        /// HMAC-SHA-256 of the purpose.
        case hmac
    }

    private let key: SymmetricKey
    /// Has taken the key in, which takes as long as a short payload.
    private let keyedCode: HMAC<SHA256>
    private let random: @Sendable (Int) -> [UInt8]

    /// Bytes that sealing adds to a payload: the nonce in front of it and the check value behind it.
    package static let overhead = nonceBytes + 16
    private static let nonceBytes = 12

    /// - Parameters:
    ///   - purpose: The purpose's name, which no other purpose has; ends with the number of the token's form.
    ///   - serverEnvironment: Gives the secret, and randomness for nonces.
    package init(purpose: String, in serverEnvironment: ServerEnvironment, derivation: KeyDerivation = .hkdf) {
        self.init(
            purpose: purpose, secret: serverEnvironment.secret, derivation: derivation, random: serverEnvironment.random
        )
    }

    /// - Parameter random: Gives the bytes of nonces; not asked by a codec that only signs.
    package init(
        purpose: String, secret: [UInt8], derivation: KeyDerivation,
        random: @escaping @Sendable (Int) -> [UInt8] = ServerEnvironment.systemRandom
    ) {
        let secret = SymmetricKey(data: secret)
        let info = Array(purpose.utf8)
        key =
            switch derivation {
            case .hkdf: HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: info, outputByteCount: 32)
            case .hmac: SymmetricKey(data: Array(HMAC<SHA256>.authenticationCode(for: info, using: secret)))
            }
        keyedCode = HMAC(key: key)
        self.random = random
    }

    // MARK: Sealed tokens

    /// Encrypts a payload with AES-256-GCM: the nonce, the ciphertext, the check value.
    package func seal(_ payload: [UInt8], context: [UInt8] = []) throws -> [UInt8] {
        let nonce = try AES.GCM.Nonce(data: random(Self.nonceBytes))
        let box = try AES.GCM.seal(payload, using: key, nonce: nonce, authenticating: context)
        return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    /// Returns the payload of a sealed token; nil for bytes that were not sealed here for this purpose and context.
    package func open(_ token: [UInt8], context: [UInt8] = []) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: token),
            let payload = try? AES.GCM.open(box, using: key, authenticating: context)
        else { return nil }
        return Array(payload)
    }

    /// Encrypts a payload; the token consists of letters, digits, `-` and `_`, which need no escaping in URLs.
    package func sealText(_ payload: [UInt8], context: [UInt8] = []) throws -> String {
        Base64URL.encode(try seal(payload, context: context))
    }

    /// Returns the payload of a sealed token; nil for a text that was not sealed here for this purpose and context.
    ///
    /// - Parameter bytesMax: The length beyond which a text is not looked at.
    package func openText(_ text: String, context: [UInt8] = [], bytesMax: Int) -> [UInt8]? {
        guard text.utf8.count <= bytesMax, let token = Base64URL.decode(text) else { return nil }
        return open(token, context: context)
    }

    // MARK: Signed tokens

    /// Returns the payload with a check value behind it: the beginning of an HMAC-SHA-256 over payload and context.
    package func sign(_ payload: [UInt8], context: [UInt8], checkBytes: Int) -> [UInt8] {
        payload + checkValue(of: payload, context: context, count: checkBytes)
    }

    /// Returns the payload of a signed token; nil for bytes that were not signed here for this purpose and context.
    package func verify(_ token: [UInt8], context: [UInt8], checkBytes: Int) -> [UInt8]? {
        let payload = Array(token.dropLast(checkBytes))
        let isOurs = isEqualInConstantTime(
            checkValue(of: payload, context: context, count: checkBytes), Array(token.suffix(checkBytes)))
        return isOurs ? payload : nil
    }

    private func checkValue(of payload: [UInt8], context: [UInt8], count: Int) -> [UInt8] {
        var code = keyedCode
        // At once: a second call costs as much as the bytes.
        code.update(data: payload + context)
        return code.finalize().withUnsafeBytes { Array($0.prefix(count)) }
    }
}
