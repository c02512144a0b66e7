/// Finds the keys of records in one zone from the keys of a device: zone keys, share keys, and the protections of records.
///
/// Pure: where a record is missing, the outcome names it, the caller fetches it, passes it to `learn` and asks again. Keys
/// that were found are kept.
package struct TreeKeys: Sendable {
    /// The outcome of a search for a key.
    package enum Outcome: Equatable, Sendable {
        case opened(RecordKey)
        /// Fetch this record's protection, hand it to `learn`, and ask again.
        case needs(record: String)
    }

    private struct Point: Hashable {
        var record: String
        var epoch: UInt32
    }

    /// The zone.
    package let zone: ZoneAddress
    private var zoneKeys: [UInt32: ZoneKey] = [:]
    private var shareKeys: [Point: ShareKey] = [:]
    /// The account's own, in a zone that it owns.
    private var owner: AccountIdentity?
    private var protections: [String: RecordProtection?] = [:]
    private var found: [Point: RecordKey] = [:]

    /// The number of parents that are followed.
    package static let depthMax = 128

    /// Creates a value with the given properties.
    package init(zone: ZoneAddress) { self.zone = zone }

    /// Keys of other zones are left aside.
    package mutating func add(_ key: ZoneKey) {
        if key.place == zone { zoneKeys[key.epoch] = key }
    }

    /// Adds the key of a share.
    package mutating func add(_ key: ShareKey) {
        if key.place.zone == zone { shareKeys[Point(record: key.place.name, epoch: key.epoch)] = key }
    }

    /// Opens wraps for the zone's owner.
    package mutating func add(_ owner: AccountIdentity) { self.owner = owner }

    /// A Boolean value that indicates whether the keys of the zone's owner are known.
    package var hasOwner: Bool { owner != nil }

    /// Adds a record's protection as the cloud sent it; nil if there is no such record within reach.
    package mutating func learn(_ protection: RecordProtection?, of record: String) {
        if let protection, protections[record] != .some(protection) {
            found[Point(record: record, epoch: protection.epoch)] = nil
        }
        protections[record] = .some(protection)
    }

    /// Forgets all other records.
    package mutating func keep(only records: Set<String>) {
        protections = protections.filter { records.contains($0.key) }
        found = found.filter { records.contains($0.key.record) }
    }

    /// The key in which the record is sealed now.
    ///
    /// - Throws: `noKey` if no known key opens it; `doesNotOpen` if the key that should open it does not; `malformed`
    ///   for parents in a circle; `tooMany` beyond `depthMax` parents.
    package mutating func key(of record: String) throws(EncryptionError) -> Outcome {
        guard let known = protections[record] else { return .needs(record: record) }
        guard let known else { throw .noKey(.recordKey(record: record)) }
        return try key(Point(record: record, epoch: known.epoch), below: [])
    }

    private mutating func key(_ point: Point, below: [Point]) throws(EncryptionError) -> Outcome {
        if let key = found[point] { return .opened(key) }
        let item = EncryptionError.Item.recordKey(record: point.record)
        guard !below.contains(point) else { throw .malformed(item, reason: "its parents form a circle") }
        guard below.count <= Self.depthMax else { throw .tooMany(item, limit: Self.depthMax) }
        let outcome = try search(point, below: below + [point])
        if case .opened(let key) = outcome { found[point] = key }
        return outcome
    }

    private mutating func search(_ point: Point, below: [Point]) throws(EncryptionError) -> Outcome {
        guard let known = protections[point.record] else { return .needs(record: point.record) }
        guard let protection = known, point.epoch <= protection.epoch else { return try derived(point) }
        guard point.epoch == protection.epoch else { return try earlier(point, protection, below: below) }
        if protection.origin == .derived, let zoneKey = zoneKeys[point.epoch] {
            return .opened(zoneKey.recordKey(point.record))
        }
        return try unwrap(point, protection, below: below)
    }

    /// A record that was not written in this epoch has a key nevertheless, derived from the zone's.
    private func derived(_ point: Point) throws(EncryptionError) -> Outcome {
        guard let zoneKey = zoneKeys[point.epoch] else { throw .noKey(.recordKey(record: point.record)) }
        return .opened(zoneKey.recordKey(point.record))
    }

    private mutating func earlier(
        _ point: Point, _ protection: RecordProtection, below: [Point]
    ) throws(EncryptionError) -> Outcome {
        guard protection.wraps.contains(where: { $0.opener == .present(earlier: point.epoch) }) else {
            return try derived(point)
        }
        switch try key(Point(record: point.record, epoch: protection.epoch), below: below) {
        case .opened(let present): return .opened(try protection.earlierKey(point.epoch, key: present))
        case .needs(let record): return .needs(record: record)
        }
    }

    /// Shares first, which need nothing else; then the owner's wrap, then the parent.
    private mutating func unwrap(
        _ point: Point, _ protection: RecordProtection, below: [Point]
    ) throws(EncryptionError) -> Outcome {
        var failure = EncryptionError.noKey(.recordKey(record: point.record))
        for case .share(let share, let epoch) in protection.wraps.map(\.opener) {
            guard let shareKey = shareKeys[Point(record: share, epoch: epoch)] else { continue }
            do {
                return .opened(try protection.key(of: point.record, share: shareKey))
            } catch {
                failure = error
            }
        }
        if let owner, protection.wraps.contains(where: { $0.opener == .owner }) {
            do {
                return .opened(try protection.key(of: RecordAddress(zone: zone, name: point.record), owner: owner))
            } catch {
                failure = error
            }
        }
        for case .parent(let parent, let epoch) in protection.wraps.map(\.opener) {
            switch try key(Point(record: parent, epoch: epoch), below: below) {
            case .opened(let parentKey): return .opened(try protection.key(of: point.record, parent: parentKey))
            case .needs(let record): return .needs(record: record)
            }
        }
        throw failure
    }
}
