#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The part of a network address that attempts are counted by.
///
/// An IPv6 network gives each of its customers at least 64 bits of addresses to choose from: counting whole addresses would count
/// nothing.
enum NetworkPrefix {
    /// Returns an IPv4 address as it is, the first 64 bits of an IPv6 address, and any other text as it is.
    static func text(of address: String) -> String {
        guard address.utf8.contains(UInt8(ascii: ":")) else { return address }
        var binary = in6_addr()
        let zoneless = address.prefix { $0 != "%" }
        guard inet_pton(AF_INET6, String(zoneless), &binary) == 1 else { return address }
        let bytes = withUnsafeBytes(of: &binary) { Array($0) }
        let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
        if bytes.starts(with: mappedPrefix) { return bytes.suffix(4).map { String($0) }.joined(separator: ".") }
        return bytes.prefix(8).hex + "/64"
    }
}
