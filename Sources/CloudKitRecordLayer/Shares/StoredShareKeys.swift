import OrderedStore

/// Opaque key bytes of a share, by epoch: what is for all, the link's wrap, and one wrap a participant, each under its own
/// key, so that nobody's answer has to read the others'.
package struct ShareKeyName: Hashable, Sendable {
    package enum Part: Hashable, Sendable {
        case blob, link
        case wrap(participantID: String)

        fileprivate var code: Int {
            switch self {
            case .blob: 0
            case .link: 1
            case .wrap: 2
            }
        }
    }

    package var share: UInt64
    package var epoch: UInt32
    package var part: Part

    package init(share: UInt64, epoch: UInt32, part: Part) {
        self.share = share
        self.epoch = epoch
        self.part = part
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
    package func shareKeys(zone: UInt32, _ names: [ShareKeyName]) async throws -> [Bytes?] {
        try await get(names.map { $0.key(zone: zone) })
    }
}

extension WriteTransaction {
    package mutating func set(_ name: ShareKeyName, zone: UInt32, to bytes: Bytes) {
        set(name.key(zone: zone), bytes)
    }

    package mutating func clear(_ name: ShareKeyName, zone: UInt32) { clear(name.key(zone: zone)) }

    /// Clears the keys of all epochs of a share.
    package mutating func clearKeys(of share: StoredShare, zone: UInt32) {
        clear(KeyRange(prefix: KeyBuilder(.shareKey, zone: zone).adding(share.number).bytes))
    }
}
