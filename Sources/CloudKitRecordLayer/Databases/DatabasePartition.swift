import CloudKitModel
import OrderedStore

extension Partition {
    /// One user's private data in one container and environment.
    package static func privateDatabase(
        _ container: ContainerID, _ environment: Environment, of user: UserID
    ) -> Partition {
        Partition("private/\(container.name)/\(environment.rawValue)/\(user.recordName)")
    }

    /// The place and the user of a private database's partition; nil for any other partition.
    package var privateDatabase: (container: ContainerID, environment: Environment, user: UserID)? {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, parts[0] == "private", let environment = Environment(rawValue: parts[2]) else {
            return nil
        }
        return (ContainerID(parts[1]), environment, UserID(parts[3]))
    }

    /// The public database of one container and environment.
    package static func publicDatabase(_ container: ContainerID, _ environment: Environment) -> Partition {
        Partition("public/\(container.name)/\(environment.rawValue)")
    }

    /// The record types of one container and environment.
    package static func schema(_ container: ContainerID, _ environment: Environment) -> Partition {
        Partition("schema/\(container.name)/\(environment.rawValue)")
    }

    /// The registry of the cloud's own partitions: their names, those with work waiting, the store's epoch.
    package static let registry = Partition("registry")
}

extension WriteTransaction {
    /// Clears everything that a partition holds, its header included.
    package mutating func clearDatabase() {
        // Every key begins with the byte of its subspace.
        clear(KeyRange(lower: [0], upper: [0xFF]))
    }
}
