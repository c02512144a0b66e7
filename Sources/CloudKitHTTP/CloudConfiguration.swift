/// How a cloud is reached.
package struct CloudConfiguration: Hashable, Sendable {
    package var host: String
    /// 0: the system chooses.
    package var port: Int
    /// Scheme, host and port under which clients reach it, without a slash at the end; nil: what a request names.
    package var publicURL: String?
    /// Whether TLS ends here.
    package var usesTLS: Bool
    /// Whether `X-Forwarded-For` is written by a proxy that we trust.
    package var isBehindProxy: Bool
    /// The largest body that is taken: the 2 MB of B-LIM-02 and room for base 64 and names.
    package var bodyBytesMax: Int
    /// How slow a client may be while a file goes over the wire.
    package var transferPace: TransferPace
    /// How long a device's question for notifications waits for one.
    package var courierHold: Duration

    package init(
        host: String = "127.0.0.1", port: Int = 8080, publicURL: String? = nil, usesTLS: Bool = false,
        isBehindProxy: Bool = false, bodyBytesMax: Int = 3 * 1024 * 1024,
        transferPace: TransferPace = TransferPace(), courierHold: Duration = .seconds(25)
    ) {
        self.host = host
        self.port = port
        self.publicURL = publicURL
        self.usesTLS = usesTLS
        self.isBehindProxy = isBehindProxy
        self.bodyBytesMax = bodyBytesMax
        self.transferPace = transferPace
        self.courierHold = courierHold
    }

    var scheme: String { usesTLS ? "https" : "http" }

    var bodyReader: BodyReader { BodyReader(bytesMax: bodyBytesMax, drainedBytesMax: 32 * bodyBytesMax) }
}
