import Foundation

/// A connection that sends requests one after the other and reads no more of the answer than its beginning.
///
/// Its receive buffer is small; what the system's buffers take of the first answers, they do not take of the last.
struct UnreadConnection: Sendable {
    private let connection: RawConnection

    /// Sends the requests and returns once the first answer has begun.
    init(port: Int, request: [UInt8]) async throws {
        connection = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try Self.begin(port, request) }) }
        }
    }

    func close() { connection.close() }

    private static func begin(_ port: Int, _ request: [UInt8]) throws -> RawConnection {
        var connection = try RawConnection(port: port, receiveBufferBytes: 4096)
        try connection.write(request)
        try connection.readMore(bytesMax: 1)
        return connection
    }
}
