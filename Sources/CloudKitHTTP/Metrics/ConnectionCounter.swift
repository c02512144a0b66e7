import NIOCore

/// Counts the connections that are open.
final class ConnectionCounter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let metrics: RequestMetrics
    private var isCounted = false

    init(metrics: RequestMetrics) { self.metrics = metrics }

    func handlerAdded(context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        count()
    }

    func channelActive(context: ChannelHandlerContext) {
        count()
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isCounted { metrics.connectionClosed() }
        isCounted = false
        context.fireChannelInactive()
    }

    private func count() {
        guard !isCounted else { return }
        isCounted = true
        metrics.connectionOpened()
    }
}
