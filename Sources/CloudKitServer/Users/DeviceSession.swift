import Crypto

/// A device, or a browser, that its owner signed in.
package struct DeviceSession: BookRow, Codable, Hashable, Sendable {
    /// 32 hexadecimal digits.
    package var id: String
    package var account: String
    /// What the owner sees in a list.
    package var name: String
    /// Milliseconds since 1970.
    package var created: Int64
    /// When nobody can use it any more, unless it is renewed; milliseconds since 1970.
    package var expires: Int64
    /// SHA-256 of the secret with which a device opens further containers; nil for a browser.
    var secretHash: [UInt8]?
    /// The generation of the account's keychain with which the device was signed in; nil for a browser, which holds no
    /// keys.
    var keychainGeneration: Int?

    static let nameCharactersMax = 100

    /// Whether a device's secret is this session's, and the session not over.
    func opens(with secret: [UInt8], now: Int64) -> Bool {
        guard let secretHash, now < expires else { return false }
        return isEqualInConstantTime(Array(SHA256.hash(data: secret)), secretHash)
    }

    /// A browser's session goes without a keychain.
    package var isBrowser: Bool { secretHash == nil }

    /// Whether the device's keys are those of an earlier keychain, which was reset since.
    package func isOutdated(for account: Account) -> Bool {
        keychainGeneration.map { $0 != account.keychainGeneration } ?? false
    }
}

/// What a signed-in device proves itself with.
package struct DeviceKey: Hashable, Sendable {
    package var id: String
    package var secret: [UInt8]

    package init(id: String, secret: [UInt8]) {
        self.id = id
        self.secret = secret
    }
}

/// How long a web token lives without being replaced.
package enum SessionLifetime: String, Hashable, Sendable, CaseIterable {
    /// A browser (docs/web-services.md §2.2).
    case session
    /// A browser whose user asked to stay signed in.
    case persistent
    /// A device with our SDK.
    case device

    package var milliseconds: Int64 {
        switch self {
        case .session: 30 * 60_000
        case .persistent: 14 * 86_400_000
        case .device: 365 * 86_400_000
        }
    }
}
