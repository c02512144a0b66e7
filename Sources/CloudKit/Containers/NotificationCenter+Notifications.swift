import Foundation

// Foundation on Apple's platforms has this, Foundation on Linux does not; it is how apps today wait for
// `CKAccountChanged`. Where Foundation offers it, that is taken.
extension NotificationCenter {
    /// Returns the notifications of a name from now on, for `for await`.
    ///
    /// - Parameter object: The sender of the notifications; nil: any.
    @_disfavoredOverload
    public func notifications(named name: Notification.Name, object: AnyObject? = nil) -> Notifications {
        Notifications(name, object, in: self)
    }

    /// Notifications as they come. Who does not look keeps the newest 64.
    public final class Notifications: AsyncSequence, Sendable {
        /// The sequence’s elements.
        public typealias Element = Notification
        /// The sequence never ends with an error.
        public typealias Failure = Never

        // A stream is safe from anywhere; it does not say so because its elements are not.
        nonisolated(unsafe) private let stream: AsyncStream<Notification>

        fileprivate init(_ name: Notification.Name, _ object: AnyObject?, in center: NotificationCenter) {
            let (stream, continuation) = AsyncStream.makeStream(
                of: Notification.self, bufferingPolicy: .bufferingNewest(64))
            self.stream = stream
            // Opaque, never changed, and given back to the center, which is safe from anywhere.
            nonisolated(unsafe) let observer = center.addObserver(forName: name, object: object, queue: nil) {
                // Passed to the iterating task, and not used again here.
                nonisolated(unsafe) let notification = $0
                continuation.yield(notification)
            }
            continuation.onTermination = { [center] _ in center.removeObserver(observer) }
        }

        /// Returns an iterator over the elements, from the next one on.
        public func makeAsyncIterator() -> Iterator { Iterator(iterator: stream.makeAsyncIterator()) }

        /// The iterator over the notifications.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var iterator: AsyncStream<Notification>.Iterator

            /// Returns the next element, waiting for it; nil when the task is cancelled.
            public mutating func next() async -> Notification? { await iterator.next() }

            /// Returns the next element, waiting for it; nil when the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? {
                await iterator.next(isolation: actor)
            }
        }
    }
}
