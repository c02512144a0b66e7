/// The time for which a web token is valid without being replaced.
package enum SessionLifetime: String, Hashable, Sendable, CaseIterable {
    /// A browser (docs/web-services.md §2.2).
    case session
    /// A browser whose user asked to stay signed in.
    case persistent
    /// A device with our SDK.
    case device

    /// The time in milliseconds.
    package var milliseconds: Int64 {
        switch self {
        case .session: 30 * 60_000
        case .persistent: 14 * 86_400_000
        case .device: 365 * 86_400_000
        }
    }
}
