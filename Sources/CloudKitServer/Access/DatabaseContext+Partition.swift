import CloudKitModel
import CloudKitRecordLayer

extension DatabaseContext {
    /// Creates the place of the database in a partition, with the system as the caller.
    init?(partition: StoragePartition) {
        let parts = partition.name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let scope: DatabaseScope
        switch parts.first {
        case "private" where parts.count >= 4: scope = .private
        case "public" where parts.count >= 3: scope = .public
        default: return nil
        }
        let tail = scope == .private ? 2 : 1
        guard let environment = Environment(rawValue: parts[parts.count - tail]) else { return nil }
        let container = ContainerID(parts[1..<(parts.count - tail)].joined(separator: "/"))
        let owner = scope == .private ? UserID(parts[parts.count - 1]) : .publicOwner
        self.init(
            address: DatabaseAddress(container: container, environment: environment, scope: scope),
            caller: Caller(user: owner), owner: owner, partition: partition,
            schemaPartition: .schema(container, environment))
    }
}
