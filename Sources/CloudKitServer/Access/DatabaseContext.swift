import CloudKitModel
import CloudKitRecordLayer

/// A database as one caller reaches it: the partition and the owner of its data.
package struct DatabaseContext: Hashable, Sendable {
    /// The container, environment and scope.
    package let address: DatabaseAddress
    /// The sender of the request.
    package let caller: Caller
    /// The owner of the zones, by which answers name them.
    package let owner: UserID
    /// The partition with the data.
    package let partition: StoragePartition
    /// The partition with the schema.
    package let schemaPartition: StoragePartition
    /// The caller, where the requested zone belongs to another user; nil: the caller's own database, or the public one.
    package var member: UserID?

    /// The scope of the database.
    package var scope: DatabaseScope { address.scope }

    /// Returns a zone of this database, by the name its owner gave it.
    package func zoneID(_ name: String) -> ZoneID { ZoneID(zoneName: name, owner: owner) }

    /// Returns the place of a zone: in the shared database that is its owner's private one, with the caller as a
    /// member.
    ///
    /// Rules B-DB-10, B-DB-12. `CallerAccess` decides whether the caller is a member.
    package func reaching(_ id: ZoneID) throws(RequestFailure) -> DatabaseContext {
        guard scope == .shared else { return self }
        guard let user = caller.user, !id.owner.isCaller, id.owner != user else { throw .onlySharedZones }
        guard UserID.isPlain(id.owner) else { throw .zoneNotFound }
        return DatabaseContext(
            address: address, caller: caller, owner: id.owner,
            partition: .privateDatabase(address.container, address.environment, of: id.owner),
            schemaPartition: schemaPartition, member: user)
    }

    /// The partition to which tokens of a zone are bound: a member's are useless to any other user.
    var tokenPartition: StoragePartition {
        guard let member else { return partition }
        return StoragePartition("member:" + member.recordName + ":" + partition.name)
    }
}

extension UserID {
    /// Returns whether a text can be the name of a user: it becomes part of a partition's name.
    static func isPlain(_ user: UserID) -> Bool {
        (1...255).contains(user.recordName.utf8.count)
            && user.recordName.utf8.allSatisfy { (0x21..<0x7F).contains($0) && $0 != UInt8(ascii: "/") }
    }
}
