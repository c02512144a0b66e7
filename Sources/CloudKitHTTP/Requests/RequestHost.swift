/// The host that a request names in `Host`: a name or an address, perhaps with a port.
struct RequestHost: Hashable {
    /// In lower case; an address of IPv6 has its brackets.
    let name: String

    /// - Returns: nil for a text that is no host.
    init?(_ text: String) {
        var text = text.lowercased()
        guard let nameEnd = text.withUTF8({ Self.nameEnd(in: $0) }) else { return nil }
        var name = text.utf8.prefix(nameEnd)
        if name.count > 1, name.last == UInt8(ascii: ".") { name.removeLast() }
        self.name = String(Substring(name))
    }

    /// Returns whether a text is a host.
    static func isValid(_ text: String) -> Bool {
        var text = text
        // Bytes in one piece: this runs for every request.
        return text.withUTF8 { nameEnd(in: $0) } != nil
    }

    /// Returns the number of bytes of the name; nil for a text that is no host.
    private static func nameEnd(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        let end: Int
        if bytes.first == UInt8(ascii: "[") {
            guard let bracket = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            guard (3...46).contains(bracket), bytes[1..<bracket].allSatisfy(isOfAddress) else { return nil }
            end = bracket + 1
        } else {
            end = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.count
            guard (1...255).contains(end), bytes[..<end].allSatisfy(isOfName) else { return nil }
        }
        return end == bytes.count || isPort(bytes[end...]) ? end : nil
    }

    private static func isPort(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard bytes.first == UInt8(ascii: ":"), bytes.count <= 6 else { return false }
        var port = 0
        for byte in bytes.dropFirst() {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return false }
            port = port * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return port <= 65_535
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func isOfAddress(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
