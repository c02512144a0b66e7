/// The numbers that distinguish a store from others.
package struct StoreIdentity: Hashable, Sendable {
    /// Changes when the store is replaced by an earlier state of itself.
    package let epoch: UInt64
    /// The salt of the checksums, the same as long as the store and its copies live.
    package let salt: UInt64

    /// Draws the identity of a new store, or of a store with the salt of another.
    package static func drawn(salt: UInt64? = nil) -> Self {
        var generator = SystemRandomNumberGenerator()
        return Self(epoch: generator.next(), salt: salt ?? generator.next())
    }

    /// Creates an identity of the given numbers.
    package init(epoch: UInt64, salt: UInt64) {
        self.epoch = epoch
        self.salt = salt
    }

    /// Reads the stored form; nil if it is none.
    package init?(_ bytes: Bytes) {
        guard bytes.count == 16 else { return nil }
        epoch = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        salt = bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The stored form in hexadecimal digits.
    package var hexadecimal: String {
        [epoch, salt].map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
