import NIOCore

/// The network address of a client as connections are counted: an address of IPv4, or the first 64 bits of one of IPv6, of which a
/// client usually has them all.
struct RemoteAddress: Hashable, Sendable {
    private let prefix: UInt64
    private let isIPv6: Bool
    /// Whether the client is a process of this machine.
    let isLoopback: Bool

    /// - Returns: nil for an address that is not of the internet.
    init?(_ address: SocketAddress) {
        switch address {
        case .v4(let address): self.init(version4: withUnsafeBytes(of: address.address.sin_addr) { Array($0) }[...])
        case .v6(let address):
            let bytes = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
            if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF {
                self.init(version4: bytes[12...])
            } else {
                self.init(
                    prefix: Self.number(bytes[..<8]), isIPv6: true,
                    isLoopback: bytes[..<15].allSatisfy { $0 == 0 } && bytes[15] == 1)
            }
        case .unixDomainSocket: return nil
        }
    }

    private init(version4 bytes: ArraySlice<UInt8>) {
        self.init(prefix: Self.number(bytes), isIPv6: false, isLoopback: bytes.first == 127)
    }

    private init(prefix: UInt64, isIPv6: Bool, isLoopback: Bool) {
        self.prefix = prefix
        self.isIPv6 = isIPv6
        self.isLoopback = isLoopback
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
