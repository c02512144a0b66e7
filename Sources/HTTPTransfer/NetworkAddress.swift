#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An address of the internet protocol, version 4 or 6.
package struct NetworkAddress: Hashable, Sendable {
    /// 4 or 16 of them, in the pending of the network.
    package let bytes: [UInt8]

    /// Reads an address as it is written: `192.0.2.1`, `2001:db8::1`, without brackets or port.
    package init?(_ text: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = withUnsafeBytes(of: four) { Array($0) }
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            bytes = withUnsafeBytes(of: six) { Array($0) }
        } else {
            return nil
        }
    }

    /// Reads the address out of the system's form of one; nil if it is of another kind.
    init?(socketAddress: UnsafeRawBufferPointer) {
        guard socketAddress.count >= MemoryLayout<sockaddr>.size else { return nil }
        switch Int32(socketAddress.loadUnaligned(as: sockaddr.self).sa_family) {
        case AF_INET where socketAddress.count >= MemoryLayout<sockaddr_in>.size:
            let address = socketAddress.loadUnaligned(as: sockaddr_in.self)
            bytes = withUnsafeBytes(of: address.sin_addr) { Array($0) }
        case AF_INET6 where socketAddress.count >= MemoryLayout<sockaddr_in6>.size:
            let address = socketAddress.loadUnaligned(as: sockaddr_in6.self)
            bytes = withUnsafeBytes(of: address.sin6_addr) { Array($0) }
        default: return nil
        }
    }

    /// Whether the address is one of the public network: of no machine's own, no private, local, shared or documentation network,
    /// and not for many receivers (the registries of special addresses, RFC 6890). An address of version 4 that is written in one
    /// of version 6 is judged itself.
    package var isPublic: Bool {
        if bytes.count == 4 { return !Self.specialFour.contains { $0.holds(bytes) } }
        for (prefix, offset) in Self.carriersOfFour where prefix.holds(bytes) {
            let four = Array(bytes[offset..<(offset + 4)])
            return !Self.specialFour.contains { $0.holds(four) }
        }
        return Self.globalSix.holds(bytes) && !Self.specialSix.contains { $0.holds(bytes) }
    }

    private struct Prefix {
        var bytes: [UInt8]
        var bits: Int

        init(_ bytes: [UInt8], _ bits: Int) {
            self.bytes = bytes
            self.bits = bits
        }

        func holds(_ address: [UInt8]) -> Bool {
            (0..<bits).allSatisfy { bit in
                let mask = UInt8(0x80) >> UInt8(bit % 8)
                let wanted = bit / 8 < bytes.count ? bytes[bit / 8] : 0
                return address[bit / 8] & mask == wanted & mask
            }
        }
    }

    private static let specialFour = [
        Prefix([0], 8), Prefix([10], 8), Prefix([100, 64], 10), Prefix([127], 8), Prefix([169, 254], 16),
        Prefix([172, 16], 12), Prefix([192, 0, 0], 24), Prefix([192, 0, 2], 24), Prefix([192, 88, 99], 24),
        Prefix([192, 168], 16), Prefix([198, 18], 15), Prefix([198, 51, 100], 24), Prefix([203, 0, 113], 24),
        Prefix([224], 4), Prefix([240], 4),
    ]

    /// Global unicast.
    private static let globalSix = Prefix([0x20], 3)

    private static let specialSix = [
        // Protocol assignments, with Teredo; documentation, twice.
        Prefix([0x20, 0x01, 0x00], 23), Prefix([0x20, 0x01, 0x0D, 0xB8], 32), Prefix([0x3F, 0xFF], 20),
    ]

    /// Forms of version 6 that stand for an address of version 4, and where in them it is: mapped, NAT64, 6to4.
    private static let carriersOfFour = [
        (Prefix([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96), 12),
        (Prefix([0x00, 0x64, 0xFF, 0x9B], 96), 12), (Prefix([0x20, 0x02], 16), 2),
    ]
}
