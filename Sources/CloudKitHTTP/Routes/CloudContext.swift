import Hummingbird
import NIOCore

/// What a request's handling knows of its connection.
package struct CloudContext: InitializableFromSource {
    /// The client's address, without its port; for slowing down guessers, never for the log.
    var address: String

    package init(source: ApplicationRequestContextSource) {
        address = source.channel.remoteAddress?.ipAddress ?? "unknown"
    }
}
