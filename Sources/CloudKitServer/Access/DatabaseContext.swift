import CloudKitModel
import CloudKitRecordLayer

/// A database as one caller reaches it: the partition and the owner of its data.
package struct DatabaseContext: Hashable, Sendable {
    /// The parts, which copies share: a context goes with every step of a request.
    private final class Parts: Hashable, Sendable {
        let address: DatabaseAddress
        let caller: Caller
        let owner: UserID
        let partition: StoragePartition
        let schemaPartition: StoragePartition
        let member: UserID?

        init(
            address: DatabaseAddress, caller: Caller, owner: UserID, partition: StoragePartition,
            schemaPartition: StoragePartition, member: UserID?
        ) {
            self.address = address
            self.caller = caller
            self.owner = owner
            self.partition = partition
            self.schemaPartition = schemaPartition
            self.member = member
        }

        static func == (left: Parts, right: Parts) -> Bool {
            left === right
                || left.address == right.address && left.caller == right.caller && left.owner == right.owner
                    && left.partition == right.partition && left.schemaPartition == right.schemaPartition
                    && left.member == right.member
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(address)
            hasher.combine(caller)
            hasher.combine(partition)
        }
    }

    private let parts: Parts

    /// The container, environment and scope.
    package var address: DatabaseAddress { parts.address }
    /// The sender of the request.
    package var caller: Caller { parts.caller }
    /// The owner of the zones, by which answers name them.
    package var owner: UserID { parts.owner }
    /// The partition with the data.
    package var partition: StoragePartition { parts.partition }
    /// The partition with the schema.
    package var schemaPartition: StoragePartition { parts.schemaPartition }
    /// The caller, where the requested zone belongs to another user; nil: the caller's own database, or the public one.
    package var member: UserID? { parts.member }

    init(
        address: DatabaseAddress, caller: Caller, owner: UserID, partition: StoragePartition,
        schemaPartition: StoragePartition, member: UserID? = nil
    ) {
        parts = Parts(
            address: address, caller: caller, owner: owner, partition: partition, schemaPartition: schemaPartition,
            member: member)
    }

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

    /// Refuses changes and pages of changes of devices whose keys were reset, and all changes once the account was removed: the session may
    /// have been looked at just before, or by another server (B-ZN-12).
    ///
    /// - Parameter header: Of the database, as the transaction reads it.
    /// - Throws: `accountTemporarilyUnavailable`, `authenticationRequired`.
    func checkKeys(_ header: DatabaseHeader) throws(RequestFailure) {
        guard scope == .private else { return }
        try header.checkIsOpen()
        guard let generation = caller.keychainGeneration else { return }
        guard generation >= Int(header.keychainGeneration) else { throw .keychainOutdated }
    }

    /// Refuses them where the header is not at hand; it is read only for a device that may have earlier keys.
    func checkKeys(in view: StorageReader) async throws {
        guard scope == .private, caller.keychainGeneration != nil else { return }
        try checkKeys(try await view.databaseHeader())
    }

    /// The partition to which tokens of a zone are bound: a member's are useless to any other user.
    var tokenPartition: StoragePartition {
        guard let member else { return partition }
        return StoragePartition("member:" + member.recordName + ":" + partition.name)
    }
}

extension DatabaseHeader {
    /// Refuses what would leave something behind of an account that was removed.
    ///
    /// - Throws: `authenticationRequired`, as for an ended session.
    func checkIsOpen() throws(RequestFailure) {
        if isClosed { throw .notSignedIn }
    }
}

extension UserID {
    /// Returns whether a text can be the name of a user: it becomes part of a partition's name.
    static func isPlain(_ user: UserID) -> Bool {
        (1...255).contains(user.recordName.utf8.count)
            && user.recordName.utf8.allSatisfy { (0x21..<0x7F).contains($0) && $0 != UInt8(ascii: "/") }
    }
}
