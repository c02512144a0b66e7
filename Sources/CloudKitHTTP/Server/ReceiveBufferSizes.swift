import NIOCore

/// The sizes of the buffers into which a connection reads: more while large requests come, in buffers that nothing keeps.
///
/// The first, small buffer is the one that a connection keeps while it waits; NIO's own choice keeps 64 KiB after a large request.
struct ReceiveBufferSizes: RecvByteBufferAllocator {
    private static let keptBytes = 2048
    private static let bytesMax = 65_536

    private var sizes = AdaptiveRecvByteBufferAllocator(minimum: keptBytes, initial: keptBytes, maximum: bytesMax)

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { sizes.buffer(allocator: allocator) }

    /// Notes the bytes of a read; returns whether the next one needs another buffer than the kept one.
    mutating func record(actualReadBytes: Int) -> Bool {
        _ = sizes.record(actualReadBytes: actualReadBytes)
        return sizes.nextBufferSize() ?? Self.keptBytes > Self.keptBytes
    }
}
