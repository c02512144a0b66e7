import CloudKitWire
import Foundation

/// A notification as it arrived: what a platform would hand to the app's delegate.
///
/// Welkin's own: Apple's platforms deliver notifications to the application, which Linux has no notion of.
public struct RemoteNotification: Sendable {
    private let payload: PayloadValue

    init(_ payload: PayloadValue) { self.payload = payload }

    /// The dictionary that `CKNotification(fromRemoteNotificationDictionary:)` reads; made anew each time.
    public var userInfo: [AnyHashable: Any] {
        guard case .object(let members) = payload else { return [:] }
        return members.reduce(into: [:]) { $0[$1.key] = $1.value.object }
    }

    /// What the notification says; nil if it is not CloudKit's.
    public var notification: CKNotification? { CKNotification(fromRemoteNotificationDictionary: userInfo) }
}

extension PayloadValue {
    fileprivate var object: Any {
        switch self {
        case .null: NSNull()
        case .bool(let flag): flag
        case .int(let number): Int(truncatingIfNeeded: number)
        case .double(let number): number
        case .text(let text): text
        case .list(let values): values.map(\.object)
        case .object(let members): members.mapValues(\.object)
        }
    }
}
