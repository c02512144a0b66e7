import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer

/// Lists the devices and browsers that a user is signed in with.
package struct ListDevices: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns the devices and browsers that a user is signed in with.
    ///
    /// - Throws: `RequestFailure` `itemNotFound`.
    package func run(
        of person: FaultOrder.Person, in container: ContainerID
    ) async throws -> (account: Account, sessions: [DeviceSession]) {
        let account = try await RunFaultOrder(cloud).target(person, in: container).account
        return (account, try await cloud.accountStore.sessions.sessions(of: account))
    }
}
