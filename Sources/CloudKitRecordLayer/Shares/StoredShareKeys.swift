import OrderedStore

/// Opaque key bytes of a share, by epoch: bytes for all, the link's wrap, the statement, and one wrap a participant, each under its own
/// key, so that an answer to one participant does not read the others'.
package struct ShareKeyName: Hashable, Sendable {
    /// The parts of an epoch's keys.
    package enum Part: Hashable, Sendable {
        case blob, link
        case wrap(participantID: String)
        case statement

        fileprivate var code: Int {
            switch self {
            case .blob: 0
            case .link: 1
            case .wrap: 2
            case .statement: 3
            }
        }
    }

    /// The number of the share.
    package var share: UInt64
    /// The epoch.
    package var epoch: UInt32
    /// The part of the epoch's keys.
    package var part: Part

    /// Creates a value with the given properties.
    package init(share: UInt64, epoch: UInt32, part: Part) {
        self.share = share
        self.epoch = epoch
        self.part = part
    }

    /// Reads what follows a zone's number in a key; nil if it is no name.
    init?(_ key: inout KeyReader) throws {
        share = try key.readVersion()
        guard let epoch = UInt32(exactly: try key.readInteger()) else { return nil }
        self.epoch = epoch
        switch try key.readInteger() {
        case 0: part = .blob
        case 1: part = .link
        case 2: part = .wrap(participantID: try key.readString())
        case 3: part = .statement
        default: return nil
        }
    }

    fileprivate func key(zone: UInt32) -> Bytes {
        var key = KeyBuilder(.shareKey, zone: zone, capacity: 64).adding(share)
        key.append(Int64(epoch))
        key.append(part.code)
        if case .wrap(let participantID) = part { key.append(participantID) }
        return key.bytes
    }
}

extension Reading {
    /// Returns the bytes of keys in their order; nil where there are none.
    package func shareKeys(zone: UInt32, _ names: [ShareKeyName]) async throws -> [Bytes?] {
        try await get(names.map { $0.key(zone: zone) })
    }
}

extension WriteTransaction {
    /// Writes the bytes of a key.
    package mutating func set(_ name: ShareKeyName, zone: UInt32, to bytes: Bytes) {
        set(name.key(zone: zone), bytes)
    }

    /// Removes a key.
    package mutating func clear(_ name: ShareKeyName, zone: UInt32) { clear(name.key(zone: zone)) }

    /// Clears the keys of all epochs of a share.
    package mutating func clearKeys(of share: StoredShare, zone: UInt32) {
        clear(KeyRange(prefix: KeyBuilder(.shareKey, zone: zone).adding(share.number).bytes))
    }
}
