import CloudKit

/// A person with an account in a test cloud.
public struct TestUser: Sendable {
    public let name: String
    let account: RunningCloud.TestAccount
    let cloud: TestCloud

    public var email: String { account.email }
    public var password: String { account.password }

    /// Signs a new device of this person in.
    ///
    /// - Parameter name: What the list of devices shows. Each call gives another device.
    public func device(_ name: String = "device") async throws -> TestDevice {
        let device = TestDevice(name: name, cloud: cloud)
        try await device.signIn(as: self)
        return device
    }

    /// The name of the person's own record in a container (B-USR-01).
    public func recordID(in container: String) async throws -> CKRecord.ID {
        CKRecord.ID(recordName: try await cloud.running.user(account, in: container).recordName)
    }
}
