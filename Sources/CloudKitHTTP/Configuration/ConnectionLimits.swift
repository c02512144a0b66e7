/// The limits of a cloud's connections, so that clients cannot take the descriptors that store and files need.
package struct ConnectionLimits: Hashable, Sendable {
    /// Connections that may be open; a further one takes the place of the one that has waited longest for a request, or is closed at once.
    package var connectionsMax: Int
    /// Connections that one address, or one /64 of IPv6, may have open; this machine and a declared proxy are excepted.
    package var connectionsPerAddressMax: Int
    /// Files of assets that transfers may have open.
    package var filesMax: Int
    /// The time from the beginning of a connection to the end of its first request's head.
    package var firstRequestMax: Duration
    /// The time for which the rest of a body is discarded after its request was answered; then the connection closes.
    package var discardMax: Duration
    /// The time for which a connection keeps its task while it waits for a further request: the task takes more memory than all else of it.
    package var taskMax: Duration
    /// The time for which a connection waits for a further request; then it closes.
    package var idleMax: Duration

    /// Creates limits; by default a quarter of the connections for one address.
    package init(
        connectionsMax: Int = 65_536, connectionsPerAddressMax: Int? = nil, filesMax: Int = 16_384,
        firstRequestMax: Duration = .seconds(30), discardMax: Duration = .seconds(5),
        taskMax: Duration = .seconds(5), idleMax: Duration = .seconds(120)
    ) {
        self.connectionsMax = connectionsMax
        self.connectionsPerAddressMax = connectionsPerAddressMax ?? max(1, connectionsMax / 4)
        self.filesMax = filesMax
        self.firstRequestMax = firstRequestMax
        self.discardMax = discardMax
        self.taskMax = taskMax
        self.idleMax = idleMax
    }

    /// The descriptors that connections never take: those of the store, of event loops and threads, of TLS, of push services, and of
    /// connections that are being refused.
    private static let reservedDescriptors = 80

    /// Connections beyond this need `--connections-max`.
    private static let defaultConnectionsMax = 65_536

    /// Creates the limits of a process that may have so many descriptors open: of those that are not in reserve, three quarters are
    /// for connections and one is for files.
    ///
    /// - Returns: nil when `connectionsMax` or the reserve does not fit.
    package init?(descriptors: Int, connectionsMax: Int? = nil, connectionsPerAddressMax: Int? = nil) {
        let free = descriptors - Self.reservedDescriptors
        guard free >= 4 else { return nil }
        let connections = connectionsMax ?? min(free / 4 * 3, Self.defaultConnectionsMax)
        guard connections < free else { return nil }
        self.init(
            connectionsMax: connections, connectionsPerAddressMax: connectionsPerAddressMax,
            filesMax: free - connections)
    }
}
