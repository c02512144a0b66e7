import CloudKitModel
import CloudKitRecordLayer

/// Lists the faults that affect a container.
package struct ListFaults: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns the faults that affect a container, those ordered for all containers included.
    package func run(in container: ContainerID) async throws -> [Fault] {
        try await cloud.faults.list().filter { $0.container == nil || $0.container == container.name }
    }
}
