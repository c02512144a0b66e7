import Foundation

/// A connection that sends requests one after the other and reads no more of the answer than its beginning.
///
/// Its receive buffer is small; what the system's buffers take of the first answers, they do not take of the last.
final class UnreadConnection: Sendable {
    private let descriptor: Int32

    /// Sends the requests and returns once the first answer has begun.
    init(port: Int, request: [UInt8]) async throws {
        descriptor = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try Self.begin(port, request) }) }
        }
    }

    func close() { Foundation.close(descriptor) }

    private static func begin(_ port: Int, _ request: [UInt8]) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var size: Int32 = 4096
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw ClientError.system("connect", errno) }
        var rest = request[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw ClientError.system("send", errno) }
            rest = rest.dropFirst(count)
        }
        var byte: UInt8 = 0
        guard recv(descriptor, &byte, 1, 0) == 1 else { throw ClientError.noAnswer }
        return descriptor
    }
}
