import Foundation

/// A local port, chosen by the system and reserved while this object exists.
///
/// A server may listen on it repeatedly: the socket that reserves the port does not listen, and both allow the port to be
/// shared. Without the reservation another connection could take the port before the server does.
package final class HeldPort: Sendable {
    package let number: UInt16
    private let descriptor: Int32

    package init() throws(ChildFailure) {
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            // Not inherited by child processes, which would reserve the port as well.
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        #endif
        var isShared: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let outcome = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && getsockname(descriptor, address, &size) == 0
            }
        }
        guard outcome else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw ChildFailure(program: "bind", reason: reason)
        }
        self.descriptor = descriptor
        number = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }
}
