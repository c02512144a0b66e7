/// What a client asks for when it wants its notifications sent by a push service.
package struct PushOrder: Hashable, Sendable {
    /// The service's name.
    package var service: String
    /// As the service has checked it.
    package var address: PushAddress
    /// Whether the device wants notifications that show nothing, too. Browsers do not: they hold it against a page.
    package var takesSilent: Bool

    package init(service: String, address: PushAddress, takesSilent: Bool) {
        self.service = service
        self.address = address
        self.takesSilent = takesSilent
    }
}
