/// The order of a client to have its notifications sent by a push service.
package struct PushOrder: Hashable, Sendable {
    /// The service's name.
    package var service: String
    /// As the service has checked it.
    package var address: PushAddress
    /// A flag for devices that also accept notifications that show nothing. Browsers penalise a page for them.
    package var takesSilent: Bool

    /// Creates an order for delivery by a push service.
    package init(service: String, address: PushAddress, takesSilent: Bool) {
        self.service = service
        self.address = address
        self.takesSilent = takesSilent
    }
}
