import Crypto
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// The source of keys and nonces: the system's generator, or in a test a seeded one.
package struct Randomness: Sendable {
    private let fill: @Sendable (Int) -> [UInt8]

    /// The system's cryptographic generator.
    package static let system = Randomness { count in
        #if canImport(Glibc)
            // One call of the system for a nonce: Swift's own generator makes one for every eight bytes.
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                // Of more than 256 bytes it gives none.
                guard let start = buffer.baseAddress, getentropy(start, count) == 0 else { return }
                filled = count
            }
            if bytes.count == count { return bytes }
        #endif
        var generator = SystemRandomNumberGenerator()
        return generator.bytes(count)
    }

    /// Bytes of this generator, each drawn once; for tests and vectors, whose keys protect nothing.
    package init(_ generator: some RandomNumberGenerator & Sendable) {
        let owned = Mutex(generator)
        fill = { count in owned.withLock { $0.bytes(count) } }
    }

    private init(fill: @escaping @Sendable (Int) -> [UInt8]) { self.fill = fill }

    /// Returns the same source with the next bytes drawn at once: the nonces of one record cost one call of the system.
    ///
    /// For a source that is used on the spot: bytes that are kept while a process forks would be drawn twice.
    package func drawing(ahead count: Int) -> Randomness {
        let drawn = Mutex(bytes(min(count, Self.callBytesMax))[...])
        return Randomness { [self] count in
            drawn.withLock { drawn -> [UInt8]? in
                guard drawn.count >= count else { return nil }
                defer { drawn = drawn.dropFirst(count) }
                return Array(drawn.prefix(count))
            } ?? bytes(count)
        }
    }

    /// The bytes that the system gives at once.
    private static let callBytesMax = 256

    /// Returns random bytes.
    package func bytes(_ count: Int) -> [UInt8] { fill(count) }

    func key() -> KeyMaterial { KeyMaterial(bytes(KeyMaterial.byteCount)) }
}

extension RandomNumberGenerator {
    fileprivate mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity((count + 7) / 8 * 8)
        while bytes.count < count {
            let word: UInt64 = next()
            withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
