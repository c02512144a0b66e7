import CloudKitModel

/// The token by which a request comes from a user's device.
package struct WebAuthToken: Hashable, Sendable {
    /// 32 hexadecimal digits.
    package var account: String
    /// The session's id: 32 hexadecimal digits.
    package var device: String
    /// The time for which it is valid.
    package var lifetime: SessionLifetime
    /// Milliseconds since 1970.
    package var issued: Int64

    /// Creates a token issued at `issued`, milliseconds since 1970.
    package init(account: String, device: String, lifetime: SessionLifetime, issued: Int64) {
        self.account = account
        self.device = device
        self.lifetime = lifetime
        self.issued = issued
    }

    /// Milliseconds since 1970.
    package var expires: Int64 { issued + lifetime.milliseconds }
}

/// Seals and opens web tokens, so that only this cloud can make one or see its account.
///
/// A token is valid in one container and environment and with one API token (docs/web-services.md §2.1): the seal
/// covers them. Apps cannot see from tokens that users of two containers are the same person: the account is encrypted.
package struct WebAuthTokens: Sendable {
    private let codec: SealedTokenCodec

    private static let textBytesMax = 511

    /// Creates the codec with a key derived from the cloud's secret.
    package init(_ serverEnvironment: ServerEnvironment) {
        codec = SealedTokenCodec(purpose: "welkin web auth token 1", in: serverEnvironment)
    }

    /// Returns the token as it is sent: letters, digits, `-` and `_`, which need no escaping.
    package func seal(
        _ token: WebAuthToken, container: ContainerID, environment: Environment, apiToken: APIToken
    ) throws -> String {
        try codec.sealText(token.encoded, context: Self.context(container, environment, of: apiToken))
    }

    /// Returns the token, or nil for a text that was not sealed here for this container, environment and API token.
    package func open(
        _ text: String, container: ContainerID, environment: Environment, apiToken: APIToken
    ) -> WebAuthToken? {
        codec.openText(
            text, context: Self.context(container, environment, of: apiToken), bytesMax: Self.textBytesMax
        ).flatMap(WebAuthToken.init(decoding:))
    }

    private static func context(
        _ container: ContainerID, _ environment: Environment, of apiToken: APIToken
    ) -> [UInt8] {
        Array("\(container.name)\u{0}\(environment.rawValue)\u{0}\(apiToken.hash)".utf8)
    }
}

extension WebAuthToken {
    private static let format: UInt8 = 1

    fileprivate var encoded: [UInt8] {
        let lifetime = UInt8(SessionLifetime.allCases.firstIndex(of: lifetime) ?? 0)
        let time = (0..<8).map { UInt8(truncatingIfNeeded: issued >> (56 - 8 * $0)) }
        return [Self.format, lifetime] + time + Array(account.utf8) + Array(device.utf8)
    }

    fileprivate init?(decoding bytes: [UInt8]) {
        guard bytes.count == 74, bytes[0] == Self.format, bytes[1] < SessionLifetime.allCases.count else { return nil }
        account = String(decoding: bytes[10..<42], as: UTF8.self)
        device = String(decoding: bytes[42..<74], as: UTF8.self)
        lifetime = SessionLifetime.allCases[Int(bytes[1])]
        issued = bytes[2..<10].reduce(0) { $0 << 8 | Int64($1) }
    }
}
