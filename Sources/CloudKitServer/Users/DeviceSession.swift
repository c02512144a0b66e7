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
}

/// How long a web token lives without being replaced.
package enum SessionLifetime: String, Hashable, Sendable, CaseIterable {
    /// A browser (web-services.md §2.2).
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
