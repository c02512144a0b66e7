import CloudKitModel

/// An external service that sends notifications to devices: Web Push now; APNs or UnifiedPush would be others.
///
/// A service needs to know no more than this. `PushDeliveryService` does the rest for all of them: it reads the users'
/// queues, sends each address one message at a time in the order of the queue, repeats messages that a service could
/// not take, removes addresses that are gone, keeps positions in the store and reports to the operator. So everything
/// is sent at least once and in order; a service that is slow or down delays only its own messages, and no save.
package protocol PushService: Sendable {
    /// The word by which clients and the log name the service, such as `webPush`. Addresses are stored under it, so it never
    /// changes.
    var name: String { get }

    /// The public settings that clients need before they can register an address, in addition to the name. For
    /// `tokens/services`.
    var announcement: [String: String] { get }

    /// Checks an address that a client registers and returns it in the form that `send` takes.
    ///
    /// - Parameter subscription: JSON, as the client has it from its platform.
    /// - Throws: `badRequest` with the defect. Nothing is sent for the check.
    func address(_ subscription: [UInt8]) throws(RequestFailure) -> PushAddress

    /// Sends one message and returns the outcome. Answers within a minute or so, also when the task is cancelled.
    func send(_ message: PushMessage, to address: PushAddress) async -> PushOutcome
}

/// The address of a device at a push service: a secret between the device, the service and the cloud.
package struct PushAddress: Hashable, Sendable {
    /// In the service's own form; at most `bytesMax`.
    package var bytes: [UInt8]
    /// The same for all addresses that reach the same device: it is stored once.
    package var identity: String

    /// Bytes of an address.
    package static let bytesMax = 4096

    /// Creates an address from its stored bytes and its identity.
    package init(bytes: [UInt8], identity: String) {
        self.bytes = bytes
        self.identity = identity
    }
}

/// One notification for one device.
package struct PushMessage: Hashable, Sendable {
    /// JSON (docs/web-services.md §12.3), at most `PushNotification.payloadBytesMax`.
    package var payload: [UInt8]
    /// A flag for notifications that a person sees or hears; others wake the app, which can wait (B-PSH-03).
    package var isVisible: Bool
    /// A newer message with the same key replaces the older one, which the service may drop (B-PSH-08).
    package var collapseKey: String
    /// Seconds for which the service keeps it for a device that is away; 0: now or never.
    package var lifetime: Int

    /// Creates a message; the lifetime is in seconds.
    package init(payload: [UInt8], isVisible: Bool, collapseKey: String, lifetime: Int) {
        self.payload = payload
        self.isVisible = isVisible
        self.collapseKey = collapseKey
        self.lifetime = lifetime
    }
}

/// The outcome of sending a message. The reasons are fixed words for the operator's log, without anything secret.
package enum PushOutcome: Hashable, Sendable {
    /// The service has it now.
    case delivered
    /// The service will never take this message; others it may.
    case refused(reason: String)
    /// The address is good for nothing any more.
    case gone(reason: String)
    /// Not now.
    ///
    /// - Parameter after: Seconds that the service asks for; nil: it does not say.
    case tryAgain(after: Int64?, reason: String)
}
