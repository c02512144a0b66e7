import CloudKitModel
import Crypto

/// Says that a request comes from a user's device.
package struct WebAuthToken: Hashable, Sendable {
    /// 32 hexadecimal digits each.
    package var account: String
    package var device: String
    package var lifetime: SessionLifetime
    /// Milliseconds since 1970.
    package var issued: Int64

    package var expires: Int64 { issued + lifetime.milliseconds }
}

/// Seals web tokens, so that nobody else can make one or see whose it is, and opens them.
///
/// A token is good in one container and environment and beside one API token (docs/web-services.md §2.1): the seal covers
/// them. Apps cannot tell from tokens that users of two containers are the same person: the account is encrypted.
package struct WebAuthTokens: Sendable {
    private let key: SymmetricKey
    private let random: @Sendable (Int) -> [UInt8]

    package init(surroundings: Surroundings) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: surroundings.secret), info: Array("welkin web auth token 1".utf8),
            outputByteCount: 32)
        random = surroundings.random
    }

    /// The token as it travels: letters, digits, `-` and `_`, so that nothing needs escaping.
    package func seal(
        _ token: WebAuthToken, container: ContainerID, environment: Environment, apiToken: APIToken
    ) throws -> String {
        let nonce = try AES.GCM.Nonce(data: random(12))
        let box = try AES.GCM.seal(
            Self.encode(token), using: key, nonce: nonce,
            authenticating: Self.place(container, environment, apiToken))
        return Base64URL.encode(Array(box.nonce) + Array(box.ciphertext) + Array(box.tag))
    }

    /// nil for anything but a token made here for this place.
    package func open(
        _ text: String, container: ContainerID, environment: Environment, apiToken: APIToken
    ) -> WebAuthToken? {
        guard text.utf8.count < 512, let bytes = Base64URL.decode(text),
            let box = try? AES.GCM.SealedBox(combined: bytes),
            let plain = try? AES.GCM.open(
                box, using: key, authenticating: Self.place(container, environment, apiToken))
        else { return nil }
        return Self.decode(Array(plain))
    }

    private static func place(_ container: ContainerID, _ environment: Environment, _ apiToken: APIToken) -> [UInt8] {
        Array("\(container.name)\u{0}\(environment.rawValue)\u{0}\(apiToken.hash)".utf8)
    }

    private static func encode(_ token: WebAuthToken) -> [UInt8] {
        let lifetime = UInt8(SessionLifetime.allCases.firstIndex(of: token.lifetime) ?? 0)
        let issued = (0..<8).map { UInt8(truncatingIfNeeded: token.issued >> (56 - 8 * $0)) }
        return [1, lifetime] + issued + Array(token.account.utf8) + Array(token.device.utf8)
    }

    private static func decode(_ bytes: [UInt8]) -> WebAuthToken? {
        guard bytes.count == 74, bytes[0] == 1, bytes[1] < SessionLifetime.allCases.count else { return nil }
        return WebAuthToken(
            account: String(decoding: bytes[10..<42], as: UTF8.self),
            device: String(decoding: bytes[42..<74], as: UTF8.self),
            lifetime: SessionLifetime.allCases[Int(bytes[1])],
            issued: bytes[2..<10].reduce(0) { $0 << 8 | Int64($1) })
    }
}
