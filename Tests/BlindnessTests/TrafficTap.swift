import Foundation
import Glibc
import Synchronization

/// A relay that forwards connections to a local port and records all bytes in both directions.
final class TrafficTap: Sendable {
    let port: Int
    private let listener: Int32
    private let target: UInt16
    private let heard = Mutex<[UInt8]>([])

    /// The bytes recorded so far; connections are interleaved.
    var bytes: [UInt8] { heard.withLock { $0 } }

    init(to target: Int) throws {
        self.target = UInt16(target)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard isOpen else { throw POSIXError(.EADDRNOTAVAIL) }
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { self.accept() }
    }

    /// Stops accepting connections.
    func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        _ = Glibc.close(listener)
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { return }
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = Self.loopback(port: target)
            let isConnected = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            guard isConnected else {
                _ = Glibc.close(client)
                continue
            }
            let end = Ends(client: client, server: server)
            Thread.detachNewThread { self.relay(from: client, to: server, end) }
            Thread.detachNewThread { self.relay(from: server, to: client, end) }
        }
    }

    /// Closes both sockets when both directions have ended.
    private final class Ends: Sendable {
        private let client: Int32
        private let server: Int32
        private let open = Mutex(2)

        init(client: Int32, server: Int32) {
            self.client = client
            self.server = server
        }

        func leave() {
            let isLast = open.withLock { open in
                open -= 1
                return open == 0
            }
            guard isLast else { return }
            _ = Glibc.close(client)
            _ = Glibc.close(server)
        }
    }

    private func relay(from source: Int32, to sink: Int32, _ ends: Ends) {
        defer { ends.leave() }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0 else {
                shutdown(sink, Int32(SHUT_WR))
                return
            }
            heard.withLock { $0.append(contentsOf: buffer[..<count]) }
            var sent = 0
            while sent < count {
                let step = buffer[sent..<count].withUnsafeBytes {
                    send(sink, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard step > 0 else { return }
                sent += step
            }
        }
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
