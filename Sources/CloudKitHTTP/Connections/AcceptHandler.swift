import NIOCore

/// Lets a server's listening socket accept no more connections than the limiter admits.
final class AcceptHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = Never

    private let limiter: ChannelLimiter

    init(limiter: ChannelLimiter) { self.limiter = limiter }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // A refused connection goes no further; it is closed.
        if limiter.admit(unwrapInboundIn(data)) { context.fireChannelRead(data) }
    }

    func read(context: ChannelHandlerContext) {
        let channel = context.channel
        if limiter.canAccept(orResume: { channel.read() }) { context.read() }
    }

    /// The interval at which connections are checked.
    private static let interval = TimeAmount.seconds(1)

    /// Limits the connections of a server that listens, until the last of them has closed: while it stops, it waits for them.
    static func limit(_ server: any Channel, by limiter: ChannelLimiter) async throws {
        try await server.eventLoop.submit {
            try server.pipeline.syncOperations.addHandler(AcceptHandler(limiter: limiter), position: .first)
        }.get()
        server.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { checks in
            limiter.closeOverdue()
            if !server.isActive, limiter.isEmpty { checks.cancel() }
        }
    }
}
