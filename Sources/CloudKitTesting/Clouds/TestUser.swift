import CloudKit

/// A user with an account in a test cloud.
public struct TestUser: Sendable {
    /// The user's name.
    public let name: String
    let account: RunningCloud.TestAccount
    let cloud: TestCloud

    /// The e-mail address of the account.
    public var email: String { account.email }

    /// The password of the account.
    public var password: String { account.password }

    /// Signs in a new device of this user.
    ///
    /// - Parameter name: The name in the list of devices. Each call returns another device.
    public func device(_ name: String = "device") async throws -> TestDevice {
        let device = TestDevice(name: name, cloud: cloud)
        try await device.signIn(as: self)
        return device
    }

    /// Adds a phone number to the account, so that invitations to it can be accepted.
    ///
    /// - Parameter number: The number with its country code, such as `+441632960083`.
    public func addPhoneNumber(_ number: String) async throws {
        try await cloud.running.accountStore.accounts.addPhoneNumber(number, email: email)
    }

    /// Lets others find the user, or not, as the person does with `welkin discovery`.
    public func setDiscoverable(_ isDiscoverable: Bool) async throws {
        try await cloud.running.accountStore.accounts.setDiscoverable(isDiscoverable, email: email)
    }

    /// Returns the ID of the user record in a container (B-USR-01).
    public func recordID(in container: String) async throws -> CKRecord.ID {
        CKRecord.ID(recordName: try await cloud.running.user(account, in: container).recordName)
    }
}
