import OrderedStore

/// A reference from one record to another that matters when the other is deleted (B-REF-05, B-REF-07).
///
/// Kept under the target, so that a cascade or a violation is found by one short scan, however large the zone.
package struct BackReference: Hashable, Sendable {
    /// Values never change: data is stored under them.
    package enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        case deleteSelf = 1
        case validate = 2
        case parent = 3
    }

    /// The name of the record that is pointed at.
    package var target: String
    /// The kind of the reference.
    package var kind: Kind
    /// The record that holds the reference.
    package var holder: String
    /// The field that holds it; nil for `parent`. A record pointing at a target from two fields has two of these.
    package var field: String?

    /// Creates a value with the given properties.
    package init(target: String, kind: Kind, holder: String, field: String?) {
        self.target = target
        self.kind = kind
        self.holder = holder
        self.field = field
    }

    func key(zone: UInt32) -> Bytes {
        var key = KeyBuilder(.backReference, zone: zone, capacity: 64)
        key.append(target)
        key.append(Int(kind.rawValue))
        key.append(holder)
        key.append(field ?? "")
        return key.bytes
    }

    init(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .backReference)
        try key.skip()
        let target = try key.readString()
        let kind = UInt8(exactly: try key.readInteger()).flatMap(Kind.init(rawValue:))
        let holder = try key.readString()
        let field = try key.readString()
        guard let kind else { throw DamagedValue(.backReference) }
        self.init(target: target, kind: kind, holder: holder, field: field.isEmpty ? nil : field)
    }

    static func ownerCountKey(zone: UInt32, target: String) -> Bytes {
        KeyBuilder(.ownerCount, zone: zone).adding(target).bytes
    }
}

extension Reading {
    /// Up to `limit` references to a record.
    package func backReferences(zone: UInt32, target: String, limit: Int) async throws -> [BackReference] {
        let range = KeyRange(prefix: KeyBuilder(.backReference, zone: zone).adding(target).bytes)
        return try await scan(range, limit: limit).map(BackReference.init)
    }

    /// The names of the records that have a record as their parent.
    package func children(zone: UInt32, of target: String) async throws -> [String] {
        var key = KeyBuilder(.backReference, zone: zone).adding(target)
        key.append(Int(BackReference.Kind.parent.rawValue))
        return try await scan(KeyRange(prefix: key.bytes), limit: .max).map { try BackReference($0).holder }
    }

    /// Returns the number of deleteSelf references to each target (B-LIM-07).
    package func ownerCounts(zone: UInt32, targets: [String]) async throws -> [Int] {
        let values = try await get(targets.map { BackReference.ownerCountKey(zone: zone, target: $0) })
        return try values.map { bytes in
            guard let bytes else { return 0 }
            var value = ValueReader(bytes, of: .ownerCount)
            return Int(try value.number(UInt32.self))
        }
    }
}

extension WriteTransaction {
    /// Writes a back-reference.
    package mutating func set(_ reference: BackReference, zone: UInt32) { set(reference.key(zone: zone), []) }

    /// Removes a back-reference.
    package mutating func clear(_ reference: BackReference, zone: UInt32) { clear(reference.key(zone: zone)) }

    /// Sets the number of records that own a target.
    package mutating func setOwnerCount(zone: UInt32, target: String, _ count: Int) {
        let key = BackReference.ownerCountKey(zone: zone, target: target)
        if count <= 0 { return clear(key) }
        var value = ValueWriter(capacity: 4)
        value.add(UInt32(clamping: count))
        set(key, value.bytes)
    }
}
