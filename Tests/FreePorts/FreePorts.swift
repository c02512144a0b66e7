import Foundation

/// Returns different ports of the loopback address that nothing listens on, for servers that have to be told theirs.
///
/// - Parameter count: The number of ports.
/// - Throws: `POSIXError` if there is none.
package func freePorts(_ count: Int) throws -> [Int] {
    var descriptors: [Int32] = []
    // All are held until the last one is found.
    defer { for descriptor in descriptors { close(descriptor) } }
    return try (0..<count).map { _ in
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        descriptors.append(descriptor)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isBound else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EADDRINUSE) }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
