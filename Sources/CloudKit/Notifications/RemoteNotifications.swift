import CloudKitClient
import Foundation

/// The notifications for the user of this device, as they arrive: `for await notification in
/// container.remoteNotifications`.
///
/// An addition of Welkin. All sequences and handlers of a process share one connection for each profile and container;
/// it is open while there is a listener. A notification counts as received when every listener has asked for the next
/// one: until then it is delivered again after a restart. Notifications that arrive while the device is offline wait on
/// the server, the newest of each (B-PSH-02). Iterating never throws: the connection is made again with growing pauses
/// for as long as necessary.
public struct RemoteNotifications: AsyncSequence, Sendable {
    /// The sequence’s elements: payloads as an app delegate receives them.
    public typealias Element = RemoteNotification
    /// The sequence never ends with an error.
    public typealias Failure = Never

    let hub: NotificationHub
    let cloud: CloudAccess

    /// Returns an iterator over the elements, from the next one on.
    public func makeAsyncIterator() -> Iterator { Iterator(listener: hub.listen(through: cloud)) }

    /// Listens from the moment it is made to the moment it is let go.
    public struct Iterator: AsyncIteratorProtocol {
        let listener: NotificationListener

        /// The next notification; nil when the task is cancelled.
        public mutating func next() async -> RemoteNotification? {
            await listener.next().map { RemoteNotification($0) }
        }

        /// Returns the next element, waiting for it; nil when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> RemoteNotification? {
            await listener.next().map { RemoteNotification($0) }
        }
    }
}

/// Listens for notifications while it is held.
public final class RemoteNotificationObservation: Sendable {
    private let task: Task<Void, Never>

    init(_ task: Task<Void, Never>) { self.task = task }

    /// Stops listening.
    public func cancel() { task.cancel() }

    deinit { task.cancel() }
}

extension CKContainer {
    /// Notifications for the user of this device, as they arrive. Welkin's own: how they reach an app on Linux.
    public var remoteNotifications: RemoteNotifications {
        RemoteNotifications(hub: connection.notifications, cloud: connection.cloud)
    }

    /// Calls a closure with each notification for the user of this device. An addition of Welkin.
    ///
    /// - Parameter handler: Called one at a time, in order; a notification counts as received when the handler has
    ///   returned.
    /// - Returns: An object that listens as long as it is held.
    public func observeRemoteNotifications(
        _ handler: @escaping @Sendable (RemoteNotification) async -> Void
    ) -> RemoteNotificationObservation {
        var notifications = remoteNotifications.makeAsyncIterator()
        return RemoteNotificationObservation(
            Task { while let notification = await notifications.next() { await handler(notification) } })
    }
}
