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

    /// Limits the connections of a server that listens, until it stops.
    static func limit(_ server: any Channel, by limiter: ChannelLimiter) async throws {
        try await server.eventLoop.submit {
            try server.pipeline.syncOperations.addHandler(AcceptHandler(limiter: limiter), position: .first)
        }.get()
        let checks = server.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
            limiter.closeOverdue()
        }
        server.closeFuture.whenComplete { _ in checks.cancel() }
    }
}
