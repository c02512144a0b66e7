import NIOCore
import NIOPosix

#if TLS
    import NIOSSL
#endif

/// A server that says, byte for byte, what its script says; on a port of the system's choosing.
package struct RawServer: Sendable {
    /// What the server does with one connection, the first of which has number 0. When it ends, the connection is closed.
    package typealias Script = @Sendable (_ stream: inout RawStream, _ connection: Int) async throws -> Void

    package let port: Int

    /// Runs the body beside the server.
    ///
    /// - Parameter identity: What the server shows for itself over TLS; nil: it speaks plain TCP.
    package static func run<Value: Sendable>(
        identity: Identity? = nil, _ script: @escaping Script,
        body: @escaping @Sendable (RawServer) async throws -> Value
    ) async throws -> Value {
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // A connection that is still in the queue when the server ends is nobody's: nothing is read, and nothing made of it.
            .childChannelOption(.autoRead, value: false)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try identity?.secure(channel)
                    return channel
                }
            }
        guard let port = listener.channel.localAddress?.port else { throw CancellationError() }
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                try await accept(listener, script)
                return nil
            }
            group.addTask { try await body(RawServer(port: port)) }
            defer { group.cancelAll() }
            while let value = try await group.next() { if let value { return value } }
            throw CancellationError()
        }
    }

    private static func opened(_ client: any Channel) async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        try await client.eventLoop.submit {
            let opened = try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: client)
            try client.syncOptions?.setOption(.autoRead, value: true)
            return opened
        }.get()
    }

    private static func accept(
        _ listener: NIOAsyncChannel<any Channel, Never>, _ script: @escaping Script
    ) async throws {
        try await listener.executeThenClose { clients in
            try await withThrowingDiscardingTaskGroup { group in
                var number = 0
                for try await client in clients {
                    let connection = number
                    number += 1
                    group.addTask {
                        // The other side may leave whenever it likes; what it then thinks is what is tested.
                        try? await RawStream.with(Self.opened(client)) { try await script(&$0, connection) }
                    }
                }
            }
        }
    }
}

extension RawServer {
    /// The place in a connection where bytes are as they travel.
    static let wireName = "wire"

    private final class Wire: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
    }

    /// A certificate and its private key, in PEM.
    package struct Identity: Sendable {
        package var certificate: String
        package var key: String
        /// What the server offers to speak behind TLS (ALPN), what it likes best first; none: it offers nothing.
        package var protocols: [String] = []

        package init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }

        fileprivate func secure(_ channel: any Channel) throws {
            #if TLS
                let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8))
                var configuration = TLSConfiguration.makeServerConfiguration(
                    certificateChain: chain.map { .certificate($0) },
                    privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)))
                configuration.applicationProtocols = protocols
                let handler = NIOSSLServerHandler(context: try NIOSSLContext(configuration: configuration))
                try channel.pipeline.syncOperations.addHandler(Wire(), name: RawServer.wireName)
                try channel.pipeline.syncOperations.addHandler(handler)
            #endif
        }
    }
}
