import CloudKitModel
import OrderedStore

/// The registry's partition: which partitions there are, and which of them have work waiting.
extension Reading {
    /// Returns whether the registry lists a partition.
    package func isKnown(_ partition: Partition) async throws -> Bool {
        try await get(Partition.knownKey(partition.name)) != nil
    }

    /// Every listed partition whose name begins with `prefix`.
    package func knownPartitions(prefix: String) async throws -> [Partition] {
        var key = KeyBuilder(.knownPartition)
        key.appendStart(of: prefix)
        return try await scan(key.range, limit: .max).map { entry in
            var key = KeyReader(entry.key, in: .knownPartition)
            return Partition(try key.readString())
        }
    }

    /// Returns up to `limit` listed partitions whose names begin with `prefix`, after a name, in the order of their names.
    package func knownPartitions(prefix: String, after name: String?, limit: Int) async throws -> [Partition] {
        var key = KeyBuilder(.knownPartition)
        key.appendStart(of: prefix)
        var range = key.range
        if let name, name.hasPrefix(prefix) { range.lower = Partition.knownKey(name) + [0] }
        return try await scan(range, limit: limit).map { entry in
            var key = KeyReader(entry.key, in: .knownPartition)
            return Partition(try key.readString())
        }
    }

    /// Returns the first listed partition of each container and environment, without reading those between: with many users that takes a
    /// read for each container and environment.
    package func firstPartitions() async throws -> [Partition] {
        var found: [Partition] = []
        for kind in ["private/", "public/"] {
            var key = KeyBuilder(.knownPartition)
            key.appendStart(of: kind)
            var range = key.range
            while let entry = try await scan(range, limit: 1).first {
                var reader = KeyReader(entry.key, in: .knownPartition)
                let partition = Partition(try reader.readString())
                found.append(partition)
                // The private databases of a container and environment have names that begin alike and go on behind a slash, which "0" follows.
                let place =
                    kind == "private/" ? partition.name.split(separator: "/").dropLast().joined(separator: "/") : nil
                guard let place else {
                    range.lower = entry.key + [0]
                    continue
                }
                var next = KeyBuilder(.knownPartition)
                next.appendStart(of: place + "0")
                range.lower = next.bytes
            }
        }
        return found
    }

    /// Returns up to `limit` private databases of any users, after one, in the order of their names.
    package func knownPrivateDatabases(after partition: Partition?, limit: Int) async throws -> [Partition] {
        var key = KeyBuilder(.knownPartition)
        key.appendStart(of: Partition.privatePrefix)
        var range = key.range
        if let partition { range.lower = Partition.knownKey(partition.name) + [0] }
        return try await scan(range, limit: limit).map { entry in
            var key = KeyReader(entry.key, in: .knownPartition)
            return Partition(try key.readString())
        }
    }

    /// Partitions that were promised work, with when.
    package func pendingPartitions(limit: Int) async throws -> [(partition: Partition, promised: Int64)] {
        try await scan(Subspace.pendingOutbox.range, limit: limit).map { entry in
            var key = KeyReader(entry.key, in: .pendingOutbox)
            var value = ValueReader(entry.value, of: .pendingOutbox)
            return (Partition(try key.readString()), try value.number())
        }
    }

    /// Up to `limit` partitions whose user has an address with a push service, or had, after one, in the order of their names.
    package func pushedPartitions(after partition: Partition?, limit: Int) async throws -> [Partition] {
        var range = Subspace.pushedPartition.range
        if let partition { range.lower = Partition.pushedKey(partition.name) + [0] }
        return try await scan(range, limit: limit).map { entry in
            var key = KeyReader(entry.key, in: .pushedPartition)
            return Partition(try key.readString())
        }
    }

    /// Returns up to `limit` partitions whose user has an address with a push service that is new to the node that sends.
    package func newlyPushedPartitions(limit: Int) async throws -> [Partition] {
        try await scan(Subspace.newlyPushedPartition.range, limit: limit).map { entry in
            var key = KeyReader(entry.key, in: .newlyPushedPartition)
            return Partition(try key.readString())
        }
    }

    /// Returns the time at which a push service was last given an address for a partition's user, in milliseconds since
    /// 1970; nil: never, or forgotten.
    package func whenPushed(_ partition: Partition) async throws -> Int64? {
        guard let bytes = try await get(Partition.pushedKey(partition.name)) else { return nil }
        var value = ValueReader(bytes, of: .pushedPartition)
        return try value.number()
    }
}

extension WriteTransaction {
    /// - Parameter now: Milliseconds since 1970.
    package mutating func setPushed(_ partition: Partition, now: Int64) {
        var value = ValueWriter(capacity: 8)
        value.add(now)
        set(Partition.pushedKey(partition.name), value.bytes)
    }

    /// Notes that an address for a partition's user is new to the node that sends.
    package mutating func setNewlyPushed(_ partition: Partition) { set(Partition.newlyPushedKey(partition.name), []) }

    /// Removes the note of a new address.
    package mutating func clearNewlyPushed(_ partition: Partition) { clear(Partition.newlyPushedKey(partition.name)) }

    /// Takes the mark off, unless a later address has renewed it.
    package mutating func clearPushed(_ partition: Partition, marked: Int64) async throws {
        if try await whenPushed(partition) == marked { clear(Partition.pushedKey(partition.name)) }
    }

    /// Adds a partition to the registry.
    package mutating func setKnown(_ partition: Partition) { set(Partition.knownKey(partition.name), []) }

    /// - Parameter promised: Milliseconds since 1970.
    package mutating func setPending(_ partition: Partition, promised: Int64) {
        var value = ValueWriter(capacity: 8)
        value.add(promised)
        set(Partition.pendingKey(partition.name), value.bytes)
    }

    /// Takes the mark off, unless a later promise has renewed it.
    package mutating func clearPending(_ partition: Partition, promised: Int64) async throws {
        let key = Partition.pendingKey(partition.name)
        guard let bytes = try await get(key) else { return }
        var value = ValueReader(bytes, of: .pendingOutbox)
        if try value.number() == promised { clear(key) }
    }
}

extension Partition {
    /// Returns the prefix of the names of all private databases of a container and environment.
    package static func privateDatabases(_ container: ContainerID, _ environment: Environment) -> String {
        "private/\(container.name)/\(environment.rawValue)/"
    }

    fileprivate static let privatePrefix = "private/"

    fileprivate static func knownKey(_ name: String) -> Bytes { KeyBuilder(.knownPartition).adding(name).bytes }
    fileprivate static func pushedKey(_ name: String) -> Bytes { KeyBuilder(.pushedPartition).adding(name).bytes }
    fileprivate static func newlyPushedKey(_ name: String) -> Bytes {
        KeyBuilder(.newlyPushedPartition).adding(name).bytes
    }
    fileprivate static func pendingKey(_ name: String) -> Bytes { KeyBuilder(.pendingOutbox).adding(name).bytes }
}
