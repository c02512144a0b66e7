import Hummingbird
import NIOCore

/// What a request's handling knows of its connection.
package struct CloudContext: InitializableFromSource {
    let channel: any Channel

    package init(source: ApplicationRequestContextSource) {
        channel = source.channel
    }
}
