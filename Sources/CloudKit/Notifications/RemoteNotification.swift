import CloudKitWire
import Foundation

/// A notification as it arrived, in the form in which a platform passes it to the app's delegate.
///
/// An addition of Welkin: Apple's platforms deliver notifications to the application object, which does not exist on
/// Linux.
public struct RemoteNotification: Sendable {
    private let payload: PayloadValue

    init(_ payload: PayloadValue) { self.payload = payload }

    /// The dictionary that `CKNotification(fromRemoteNotificationDictionary:)` reads; created on each access.
    public var userInfo: [AnyHashable: Any] {
        guard case .object(let members) = payload else { return [:] }
        return members.reduce(into: [:]) { $0[$1.key] = $1.value.object }
    }

    /// The notification in the dictionary; nil if it is not CloudKit's.
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
