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
        // The part that all have in common is hashed once.
        var place = SipHash(low, high)
        place.add(owner)
        place.add(byte: 0)
        place.add(zone)
        place.add(byte: 0)
        return recordNames.map { name in
            var hash = place
            hash.add(name)
            return hash.value
        }
    }

    /// Returns a pseudonym in the form of filters: 16 hexadecimal digits.
    package static func text(_ pseudonym: UInt64) -> String {
        let digits = String(pseudonym, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Returns the hash of bytes, as its authors published it.
    func hash(_ bytes: [UInt8]) -> UInt64 {
        var hash = SipHash(low, high)
        bytes.withUnsafeBytes { hash.add($0) }
        return hash.value
    }
}

/// SipHash-2-4 of bytes that come in parts.
private struct SipHash {
    private var v0, v1, v2, v3: UInt64
    /// The bytes that make no whole word yet, the lowest first.
    private var rest: UInt64 = 0
    private var byteCount = 0

    init(_ low: UInt64, _ high: UInt64) {
        v0 = low ^ 0x736f_6d65_7073_6575
        v1 = high ^ 0x646f_7261_6e64_6f6d
        v2 = low ^ 0x6c79_6765_6e65_7261
        v3 = high ^ 0x7465_6462_7974_6573
    }

    mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        let shift = UInt64(8 * (byteCount & 7))
        var start = 0
        while start + 8 <= bytes.count {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self))
            mix(rest | word << shift)
            rest = shift == 0 ? 0 : word >> (64 - shift)
            start += 8
        }
        byteCount += start
        while start < bytes.count {
            add(byte: bytes[start])
            start += 1
        }
    }

    mutating func add(byte: UInt8) {
        rest |= UInt64(byte) << UInt64(8 * (byteCount & 7))
        byteCount += 1
        if byteCount & 7 == 0 {
            mix(rest)
            rest = 0
        }
    }

    /// The hash of what was added.
    var value: UInt64 {
        var state = self
        state.mix(rest | UInt64(truncatingIfNeeded: byteCount) << 56)
        state.v2 ^= 0xFF
        for _ in 0..<4 { state.round() }
        return state.v0 ^ state.v1 ^ state.v2 ^ state.v3
    }

    private mutating func mix(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
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
