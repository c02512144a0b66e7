import OrderedStore

/// A cascade that waits: in the default zone, what a deleted record takes with it goes later (B-REF-08).
package struct CascadeJob: Hashable, Sendable {
    /// The order of jobs, and their identity.
    package var version: UInt64
    /// The name of the zone.
    package var zoneName: String
    /// The number of the zone.
    package var zone: UInt32
    /// The record that is gone.
    package var target: String

    /// Creates a value with the given properties.
    package init(version: UInt64, zoneName: String, zone: UInt32, target: String) {
        self.version = version
        self.zoneName = zoneName
        self.zone = zone
        self.target = target
    }

    static func key(_ version: UInt64) -> Bytes { KeyBuilder(.outbox, capacity: 9).adding(version).bytes }

    private static let format: UInt8 = 1

    var value: Bytes {
        var value = ValueWriter()
        value.add(byte: Self.format)
        value.add(zone)
        value.add(zoneName)
        value.add(target)
        return value.bytes
    }

    init(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .outbox)
        var value = ValueReader(entry.value, of: .outbox)
        version = try key.readVersion()
        guard try value.byte() == Self.format else { throw DamagedValue(.outbox) }
        zone = try value.number()
        zoneName = try value.text()
        target = try value.text()
    }
}

extension Reading {
    /// The oldest jobs of a partition.
    package func cascadeJobs(limit: Int) async throws -> [CascadeJob] {
        try await scan(Subspace.outbox.range, limit: limit).map(CascadeJob.init)
    }
}

extension WriteTransaction {
    /// Writes a job.
    package mutating func set(_ job: CascadeJob) { set(CascadeJob.key(job.version), job.value) }
    /// Removes a job.
    package mutating func clear(_ job: CascadeJob) { clear(CascadeJob.key(job.version)) }
}
