import Crypto
import Foundation

/// The public keys of a cloud's directory.
package struct DirectoryKeys: Hashable, Sendable {
    /// Verifies the signatures of heads: Ed25519, 32 bytes.
    package var signing: [UInt8]
    /// Verifies indices: 32 bytes.
    package var function: [UInt8]

    /// Creates the keys.
    package init(signing: [UInt8], function: [UInt8]) {
        self.signing = signing
        self.function = function
    }

    /// Both keys: 64 bytes.
    package var bytes: [UInt8] { signing + function }

    /// Reads both keys.
    package init(bytes: [UInt8]) throws(DirectoryError) {
        guard bytes.count == 64 else { throw .malformed("key") }
        self.init(signing: Array(bytes.prefix(32)), function: Array(bytes.suffix(32)))
    }
}

/// A head of the directory by its number and hash, as it travels inside of sealed statements so that two people notice when they are shown
/// different directories.
package struct DirectoryHeadReference: Hashable, Sendable {
    /// The number of the head.
    package var number: UInt64
    /// The hash of the head: 32 bytes.
    package var hash: [UInt8]

    /// Creates a reference.
    package init(number: UInt64, hash: [UInt8]) {
        self.number = number
        self.hash = hash
    }
}

/// The state of the whole directory at a time, signed.
package struct DirectoryHead: Hashable, Sendable {
    /// 0 for the first head, then one more each.
    package var number: UInt64
    /// The root of the tree of entries.
    package var root: DirectoryHash
    /// The number of entries.
    package var count: UInt64
    /// Milliseconds since 1970.
    package var time: UInt64
    /// The hash of the previous head; zeros for the first.
    package var previous: DirectoryHash
    /// The root of the log of all earlier heads.
    package var log: DirectoryHash
    /// The signature of everything before.
    package var signature: [UInt8]

    /// The length of a head in bytes.
    package static let byteCount = 184

    private var signed: [UInt8] {
        var frame = HashInput("welkin directory head 1")
        frame.append(number)
        frame.append(root)
        frame.append(count)
        frame.append(time)
        frame.append(previous)
        frame.append(log)
        return frame.bytes
    }

    /// The hash by which other heads and devices name the head.
    package var hash: DirectoryHash { DirectoryHash(of: signed) }

    /// The number and hash of the head.
    package var reference: DirectoryHeadReference { DirectoryHeadReference(number: number, hash: hash.bytes) }

    /// Signs a head.
    ///
    /// - Parameter key: The directory's secret key, 32 bytes.
    package init(
        number: UInt64, root: DirectoryHash, count: UInt64, time: UInt64, previous: DirectoryHash, log: DirectoryHash,
        key: [UInt8]
    ) throws {
        self.number = number
        self.root = root
        self.count = count
        self.time = time
        self.previous = previous
        self.log = log
        signature = []
        let key = try Curve25519.Signing.PrivateKey(rawRepresentation: key)
        signature = Array(try key.signature(for: signed))
    }

    /// Verifies the signature.
    package func verify(_ keys: DirectoryKeys) throws(DirectoryError) {
        guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: keys.signing),
            key.isValidSignature(signature, for: signed)
        else { throw .badSignature }
    }

    // MARK: Bytes

    /// The encoded form: all values in their order.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(number)
        bytes += root.bytes
        bytes.appendBigEndian(count)
        bytes.appendBigEndian(time)
        return bytes + previous.bytes + log.bytes + signature
    }

    /// Reads the encoded form.
    package init(bytes: [UInt8]) throws(DirectoryError) {
        var reader = DirectoryReader(bytes, of: "head")
        number = try reader.takeNumber()
        root = try reader.takeHash()
        count = try reader.takeNumber()
        time = try reader.takeNumber()
        previous = try reader.takeHash()
        log = try reader.takeHash()
        signature = try reader.take(64)
        try reader.finish()
    }
}
