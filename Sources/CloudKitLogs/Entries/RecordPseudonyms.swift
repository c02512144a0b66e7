/// The pseudonyms by which the log knows the records that requests named: 64 bits of a keyed hash (SipHash-2-4).
///
/// They lead from a record to the requests that named it, and not from the log to names: the key is not in the log.
package struct RecordPseudonyms: Hashable, Sendable {
    private let low: UInt64
    private let high: UInt64

    /// The owner in whose place the records of the public database are.
    package static let publicOwner = "_public"

    /// Creates the pseudonyms of a cloud.
    ///
    /// - Parameter key: 16 bytes that only the cloud knows; further bytes do not count, missing ones are zero.
    package init(key: [UInt8]) {
        func word(_ start: Int) -> UInt64 {
            (0..<8).reduce(0) { word, index in
                start + index < key.count ? word | UInt64(key[start + index]) << UInt64(8 * index) : word
            }
        }
        low = word(0)
        high = word(8)
    }

    /// Returns the pseudonym of a record.
    ///
    /// - Parameters:
    ///   - recordName: The record's name.
    ///   - zone: The name of its zone.
    ///   - owner: The user record name of the zone's owner, `publicOwner` in the public database.
    package func pseudonym(of recordName: String, zone: String, owner: String) -> UInt64 {
        pseudonyms(of: [recordName], zone: zone, owner: owner)[0]
    }

    /// Returns the pseudonyms of records of one zone.
    package func pseudonyms(of recordNames: [String], zone: String, owner: String) -> [UInt64] {
        var bytes = Array(owner.utf8)
        bytes.append(0)
        bytes.append(contentsOf: zone.utf8)
        bytes.append(0)
        let place = bytes.count
        return recordNames.map { name in
            bytes.removeSubrange(place...)
            bytes.append(contentsOf: name.utf8)
            return hash(bytes)
        }
    }

    /// Returns a pseudonym in the form of filters: 16 hexadecimal digits.
    package static func text(_ pseudonym: UInt64) -> String {
        let digits = String(pseudonym, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Returns the hash of bytes, as its authors published it.
    func hash(_ bytes: [UInt8]) -> UInt64 {
        var state = SipState(low, high)
        let whole = bytes.count & ~7
        bytes.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: whole, by: 8) {
                state.add(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)))
            }
        }
        var last = UInt64(truncatingIfNeeded: bytes.count) << 56
        for (index, byte) in bytes[whole...].enumerated() { last |= UInt64(byte) << UInt64(8 * index) }
        state.add(last)
        return state.finish()
    }
}

/// The four words of SipHash-2-4.
private struct SipState {
    private var v0, v1, v2, v3: UInt64

    init(_ low: UInt64, _ high: UInt64) {
        v0 = low ^ 0x736f_6d65_7073_6575
        v1 = high ^ 0x646f_7261_6e64_6f6d
        v2 = low ^ 0x6c79_6765_6e65_7261
        v3 = high ^ 0x7465_6462_7974_6573
    }

    mutating func add(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
    }

    mutating func finish() -> UInt64 {
        v2 ^= 0xFF
        for _ in 0..<4 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    private mutating func round() {
        v0 &+= v1
        v1 = rotated(v1, 13) ^ v0
        v0 = rotated(v0, 32)
        v2 &+= v3
        v3 = rotated(v3, 16) ^ v2
        v0 &+= v3
        v3 = rotated(v3, 21) ^ v0
        v2 &+= v1
        v1 = rotated(v1, 17) ^ v2
        v2 = rotated(v2, 32)
    }

    private func rotated(_ word: UInt64, _ count: UInt64) -> UInt64 { word << count | word >> (64 - count) }
}
