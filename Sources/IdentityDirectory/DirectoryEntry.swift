/// The public keys of an account and the devices that are signed in with them.
package struct DirectoryEntry: Hashable, Sendable {
    /// The account's public identity; empty for an account that has no keys any more.
    package var identity: [UInt8]
    /// The commitment to the list of devices, which only the account's own devices see.
    package var devices: DirectoryHash

    /// Creates an entry.
    package init(identity: [UInt8], devices: DirectoryHash) {
        self.identity = identity
        self.devices = devices
    }

    /// The most bytes of an identity.
    package static let identityBytesMax = 4096

    /// Returns the commitment to a version of the entry.
    ///
    /// - Parameter opening: 32 bytes without which the commitment reveals nothing of the entry.
    package func commitment(version: UInt64, opening: [UInt8]) -> DirectoryHash {
        var frame = HashInput("welkin directory entry 1")
        frame.append(version)
        frame.append(identity)
        frame.append(devices)
        return DirectoryHash(of: frame.bytes, key: opening)
    }
}

/// A device in an account's list.
package struct DirectoryDevice: Hashable, Sendable {
    /// The hash of the device's id.
    package var id: DirectoryHash
    /// When the device signed in; milliseconds since 1970.
    package var created: UInt64

    /// Creates a device of the list.
    ///
    /// - Parameter id: The id of the device's session.
    package init(id: String, created: UInt64) {
        self.init(hash: Self.hash(of: id), created: created)
    }

    /// Creates a device of the list.
    ///
    /// - Parameter hash: Of the device's id.
    package init(hash: DirectoryHash, created: UInt64) {
        self.id = hash
        self.created = created
    }

    /// Returns the hash of a device's id.
    package static func hash(of id: String) -> DirectoryHash {
        var frame = HashInput("welkin directory device 1")
        frame.append(id)
        return DirectoryHash(of: frame.bytes)
    }
}

/// The devices of an account, in the order of their hashes.
package struct DirectoryDevices: Hashable, Sendable {
    /// The devices, each once.
    package let list: [DirectoryDevice]
    /// The most devices of a list; the newest are kept.
    package static let countMax = 500

    /// Creates a list from devices in any order.
    package init(_ devices: some Sequence<DirectoryDevice>) {
        let newest = devices.sorted { ($0.created, $0.id.bytes.hex) > ($1.created, $1.id.bytes.hex) }
        list = newest.prefix(Self.countMax).sorted { $0.id.bytes.lexicographicallyPrecedes($1.id.bytes) }
    }

    /// Returns the commitment to the list.
    ///
    /// - Parameter opening: 32 bytes without which the commitment reveals nothing of the list.
    package func commitment(opening: [UInt8]) -> DirectoryHash {
        var frame = HashInput("welkin directory devices 1")
        for device in list {
            frame.append(device.id)
            frame.append(device.created)
        }
        return DirectoryHash(of: frame.bytes, key: opening)
    }
}

extension [UInt8] {
    /// Two digits for each byte.
    var hex: String {
        map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }
}
