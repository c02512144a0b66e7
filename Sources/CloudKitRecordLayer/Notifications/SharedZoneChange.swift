import CloudKitModel

/// The changes of one commit in a zone that is shared: one value, however many take part. The participants to notify are
/// determined at delivery, from their participant slots.
package struct SharedZoneChange: Hashable, Sendable {
    /// The number of the zone's incarnation.
    package var zone: UInt32
    /// The types of the records that changed, entered or left, by the number of the share that holds them.
    package private(set) var recordTypes: [UInt64: Set<String>] = [:]
    /// Users whose participation in shares of the zone began, ended or changed (B-SHF-01, B-SHF-07).
    package var users: Set<UserID> = []
    /// The device that made the change: it needs no notification (B-PSH-01); nil if unknown.
    package var origin: String?

    /// Creates a value with the given properties.
    package init(zone: UInt32) { self.zone = zone }

    /// Whether nothing changed.
    package var isEmpty: Bool { recordTypes.isEmpty && users.isEmpty }

    /// Notes that a record of a share changed, entered it or left it.
    package mutating func note(_ recordType: String, in share: UInt64) {
        recordTypes[share, default: []].insert(recordType)
    }

    /// Adds the changed types of a later change, if it is one of the same zone by the same device, and neither changes who takes part.
    ///
    /// - Returns: Whether it was added.
    package mutating func unite(_ later: SharedZoneChange) -> Bool {
        guard zone == later.zone, origin == later.origin, users.isEmpty, later.users.isEmpty else { return false }
        recordTypes.merge(later.recordTypes) { $0.union($1) }
        return true
    }

    /// Returns the types of the records that changed for a member; nil for none.
    ///
    /// - Parameter version: Of the change: a slot taken later has it in the member's first fetch.
    package func recordTypes(for member: ShareMember, at version: UInt64) -> Set<String>? {
        let seen = member.slots.filter { $0.joined <= version }.compactMap { recordTypes[$0.share] }
        if seen.isEmpty { return nil }
        return seen.reduce(into: []) { $0.formUnion($1) }
    }

    /// The change in parts that name at most so many users each.
    package func parts(ofUsers count: Int) -> [SharedZoneChange] {
        if users.count <= count { return [self] }
        let sorted = users.sorted { $0.recordName < $1.recordName }
        return stride(from: 0, to: sorted.count, by: count).map { start in
            var part = self
            part.users = Set(sorted[start..<min(start + count, sorted.count)])
            if start > 0 { part.recordTypes = [:] }
            return part
        }
    }

    func encode(into value: inout ValueWriter) {
        value.add(zone)
        value.add(origin)
        value.add(UInt32(clamping: recordTypes.count))
        for (share, types) in recordTypes.sorted(by: { $0.key < $1.key }) {
            value.add(share)
            value.add(UInt32(clamping: types.count))
            for type in types.sorted() { value.add(type) }
        }
        value.add(UInt32(clamping: users.count))
        for user in users.sorted(by: { $0.recordName < $1.recordName }) { value.add(user.recordName) }
    }

    init(reading value: inout ValueReader) throws {
        zone = try value.number()
        origin = try value.optionalText()
        for _ in 0..<(try value.number(UInt32.self)) {
            let share: UInt64 = try value.number()
            for _ in 0..<(try value.number(UInt32.self)) { recordTypes[share, default: []].insert(try value.text()) }
        }
        for _ in 0..<(try value.number(UInt32.self)) { users.insert(UserID(try value.text())) }
    }
}
