import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A TCP connection of raw bytes.
package struct RawStream {
    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let channel: any Channel
    private var held: [UInt8] = []

    /// Runs the body with an open connection and closes it afterwards.
    static func with<Value: Sendable>(
        _ channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>,
        _ body: @escaping @Sendable (inout RawStream) async throws -> Value
    ) async throws -> Value {
        let raw = channel.channel
        return try await channel.executeThenClose { inbound, _ in
            var stream = RawStream(
                inbound: inbound.makeAsyncIterator(), channel: raw)
            let value = try await body(&stream)
            await stream.closeOutput()
            return value
        }
    }

    /// Connects to a port of this machine.
    static func connect(to port: Int) async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
    }

    private init(
        inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
        channel: any Channel
    ) {
        self.inbound = inbound
        self.channel = channel
    }

    // MARK: Reading

    /// Reads the next request; nil if the other side has closed.
    package mutating func request() async throws -> RawMessage? { try await message { _ in true } }

    /// Reads the next answer; nil if the other side has closed.
    mutating func answer(to method: String) async throws -> RawMessage? {
        try await message { head in
            let status = head.firstLine.split(separator: " ").dropFirst().first
            return method != "HEAD" && status != "204" && status != "304"
        }
    }

    private mutating func message(hasBody: (RawMessage) -> Bool) async throws -> RawMessage? {
        guard let head = try await read(through: Array("\r\n\r\n".utf8)) else { return nil }
        var message = RawMessage(head: head, body: [])
        guard hasBody(message) else { return message }
        if message.isChunked {
            guard let body = try await read(through: Array("0\r\n\r\n".utf8)) else { return nil }
            message.body = body
        } else {
            guard let body = try await bytes(message.bodyBytes) else { return nil }
            message.body = body
        }
        return message
    }

    /// Reads this number of bytes; nil if the other side closes before.
    package mutating func bytes(_ count: Int) async throws -> [UInt8]? {
        while held.count < count { guard try await readSome() else { return nil } }
        defer { held.removeFirst(count) }
        return Array(held.prefix(count))
    }

    /// Reads and discards at least this number of bytes.
    package mutating func discard(_ count: Int) async throws {
        while held.count < count { guard try await readSome() else { return } }
        held = []
    }

    /// Waits until the other side has closed.
    package mutating func waitForEnd() async throws {
        while try await readSome() { held = [] }
    }

    private mutating func read(through mark: [UInt8]) async throws -> [UInt8]? {
        var searched = 0
        while true {
            let found = held.indices.dropFirst(searched).first { held[$0...].starts(with: mark) }
            if let found {
                let end = found + mark.count
                defer { held.removeFirst(end) }
                return Array(held.prefix(end))
            }
            searched = max(held.count - mark.count + 1, 0)
            guard try await readSome() else { return nil }
        }
    }

    private mutating func readSome() async throws -> Bool {
        // Inbound bytes come in order, one reader at a time.
        guard let buffer = try await inbound.next() else { return false }
        held += buffer.readableBytesView
        return true
    }

    // MARK: Writing

    package func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    package func send(_ bytes: [UInt8]) async throws {
        // Through the channel and not the writer, which does not report when bytes have left: they have to arrive before the end.
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    /// Closes the connection so that the other side can detect it.
    package func close() async throws {
        await closeOutput()
        try? await channel.close().get()
    }

    /// Shuts down the output: a process started by another test may have inherited the socket, and closing would not end it.
    private func closeOutput() async { try? await channel.close(mode: .output).get() }

    /// Resets the connection, which the other side cannot mistake for an orderly end.
    package func reset() async throws {
        let options = channel as? any SocketOptionProvider
        try await options?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        try await channel.eventLoop.submit { [channel] in
            // Below TLS, which would send its closing alert first.
            if let wire = try? channel.pipeline.syncOperations.context(name: RawServer.wireName) {
                wire.close(promise: nil)
            } else {
                channel.close(promise: nil)
            }
        }.get()
    }
}
