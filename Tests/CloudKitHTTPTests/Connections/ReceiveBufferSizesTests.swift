import NIOCore
import Testing

@testable import CloudKitHTTP

@Suite(.timeLimit(.minutes(1)))
struct ReceiveBufferSizesTests {
    /// The buffer that a connection keeps, and those that it reads large requests into.
    private var pool = NIOPooledRecvBufferAllocator(capacity: 1, recvAllocator: ReceiveBufferSizes())

    /// Reads as many bytes as there is room for, at most `count`; returns the room.
    private mutating func read(atMost count: Int) -> Int {
        let (buffer, read) = pool.buffer(allocator: ByteBufferAllocator()) { buffer in
            let read = min(count, buffer.writableBytes)
            buffer.writeRepeatingByte(0, count: read)
            return read
        }
        pool.record(actualReadBytes: read)
        return buffer.capacity
    }

    @Test mutating func `large requests come in larger buffers, and small ones in the kept one again`() {
        let rooms = (0..<8).map { _ in read(atMost: .max) }
        #expect(rooms == [2048, 4096, 8192, 16_384, 32_768, 65_536, 65_536, 65_536])
        let after = (0..<20).map { _ in read(atMost: 300) }
        #expect(after.last == 2048)
        #expect(after.dropLast().contains { $0 > 2048 })
    }
}
