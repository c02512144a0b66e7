import CloudKitModel
import CloudKitRecordLayer

/// A database as one caller reaches it: where its data lies and whose it is.
package struct DatabasePlace: Hashable, Sendable {
    package let address: DatabaseAddress
    package let caller: Caller
    /// The owner of the zones, by which answers name them.
    package let owner: UserID
    package let partition: StoragePartition
    package let schemaPartition: StoragePartition

    package var scope: DatabaseScope { address.scope }

    /// A zone of this database, by the name its owner gave it.
    package func zoneID(_ name: String) -> ZoneID { ZoneID(zoneName: name, owner: owner) }
}
