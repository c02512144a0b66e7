import Crypto

/// A name for what a device remembers of a zone, and hashes of names of its records; of one account, so that another one
/// on the same device begins without memory.
package struct ZoneSalt: Hashable, Sendable {
    /// 32 hexadecimal digits.
    package let file: String
    private let salt: [UInt8]

    /// Returns 8 bytes of a hash of a record's name.
    package func number(for name: String) -> UInt64 {
        var hash = SHA256()
        hash.update(data: salt)
        var name = name
        name.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        return hash.finalize().prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    fileprivate init(_ material: [UInt8]) {
        file = material.prefix(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        salt = Array(material.suffix(16))
    }
}

extension ContainerRoot {
    /// Returns the salt of the account's memory of a zone.
    package func salt(of zone: ZoneAddress) -> ZoneSalt {
        var info = Frame("welkin zone memory 1")
        info.append(zone.frame)
        return ZoneSalt(material.derive(info).bytes)
    }
}
