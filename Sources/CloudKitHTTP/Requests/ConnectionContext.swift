import Hummingbird
import NIOCore

/// The connection of a request, for its handling.
package struct ConnectionContext: InitializableFromSource {
    let channel: any Channel

    /// Takes the connection from the server.
    package init(source: ApplicationRequestContextSource) {
        channel = source.channel
    }
}
