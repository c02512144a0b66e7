/// The written form of UUIDs.
package enum UUIDText {
    /// Returns the UUID of a version whose other bits are those of `bytes`, in capitals.
    ///
    /// - Parameter bytes: 16 of them.
    package static func text(_ bytes: [UInt8], version: UInt8) -> String {
        var bytes = bytes
        bytes[6] = bytes[6] & 0x0F | version << 4
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array(bytes.hex.uppercased())
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }
}
