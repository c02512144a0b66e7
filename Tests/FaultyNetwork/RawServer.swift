import NIOCore
import NIOPosix

#if TLS
    import NIOSSL
#endif

/// A server that sends the exact bytes of its script, on a port that the system chooses.
package struct RawServer: Sendable {
    /// The script for a connection, the first of which has number 0. The connection is closed at its end.
    package typealias Script = @Sendable (_ stream: inout RawStream, _ connection: Int) async throws -> Void

    package let port: Int

    /// Runs the body with a server.
    ///
    /// - Parameter identity: The server's TLS certificate; nil for plain TCP.
    package static func run<Value: Sendable>(
        identity: Identity? = nil, _ script: @escaping Script,
        body: @escaping @Sendable (RawServer) async throws -> Value
    ) async throws -> Value {
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // A connection that is still queued when the server ends is never read.
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
                        // The client may close at any time; tests check the client's behaviour.
                        try? await RawStream.with(Self.opened(client)) { try await script(&$0, connection) }
                    }
                }
            }
        }
    }
}

extension RawServer {
    /// The name of the handler below TLS.
    static let wireName = "wire"

    private final class Wire: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
    }

    /// A certificate and its private key, in PEM.
    package struct Identity: Sendable {
        package var certificate: String
        package var key: String
        /// The protocols offered by ALPN, in order of preference.
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
