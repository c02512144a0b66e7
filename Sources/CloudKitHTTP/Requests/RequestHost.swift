/// The host that a request names in `Host`: a name or an address, perhaps with a port.
struct RequestHost: Hashable {
    /// In lower case; an address of IPv6 has its brackets.
    let name: String

    /// - Returns: nil for a text that is no host.
    init?(_ text: String) {
        let bytes = text.lowercased().utf8
        let nameEnd: String.UTF8View.Index
        if bytes.first == UInt8(ascii: "[") {
            guard let bracket = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            let address = bytes[bytes.index(after: bytes.startIndex)..<bracket]
            guard (2...45).contains(address.count), address.allSatisfy(Self.isOfAddress) else { return nil }
            nameEnd = bytes.index(after: bracket)
        } else {
            nameEnd = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
            guard (1...255).contains(bytes[..<nameEnd].count), bytes[..<nameEnd].allSatisfy(Self.isOfName) else {
                return nil
            }
        }
        let port = bytes[nameEnd...]
        guard port.isEmpty || Self.isPort(port) else { return nil }
        var name = Substring(bytes[..<nameEnd])
        if name.hasSuffix("."), name.utf8.count > 1 { name.removeLast() }
        self.name = String(name)
    }

    private static func isPort(_ bytes: Substring.UTF8View) -> Bool {
        guard bytes.first == UInt8(ascii: ":") else { return false }
        let digits = bytes.dropFirst()
        return digits.count <= 5 && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            && Int(Substring(digits)) ?? 0 <= 65_535
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
            UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func isOfAddress(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }
}
