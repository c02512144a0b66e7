/// The slowest rate at which a client may send or receive a file: one that stops must not hold a connection permanently.
package struct MinimumTransferRate: Hashable, Sendable {
    /// Bytes that have to go over the wire in each interval.
    package var bytesMin: Int
    /// The time within which `bytesMin` bytes have to pass.
    package var interval: Duration

    /// Creates a rate; by default 16 KiB in 30 seconds.
    package init(bytesMin: Int = 16_384, interval: Duration = .seconds(30)) {
        self.bytesMin = bytesMin
        self.interval = interval
    }
}
