import CloudKitDevice
import CloudKitEncryption
import CloudKitModel

/// The account of this device, as one container sees it.
package protocol DeviceAccount: Sendable {
    /// The current state, read each time; changes when a user signs in or out, in any process.
    var state: AccountState { get }
    /// The token that lets an app in at all; nil when none is configured.
    var apiToken: String? { get }
    /// The web token of the signed-in user; nil when no user is signed in.
    ///
    /// - Throws: `TransportFailure`, `SignInError`, `DeviceProfileError`.
    func webAuthToken() async throws -> String?
    /// Returns another token after the server refused this one; nil when there is none.
    func webAuthToken(insteadOf refused: String) async throws -> String?
    /// Returns a token that admits the user's requests with another API token; nil when no user is signed in.
    func webAuthToken(beside apiToken: String) async throws -> String?
    /// Keeps the token that came with the answer to a device, unless another device was signed in meanwhile.
    func keep(rotated token: String, of device: String)
    /// The secret from which the keys of everything encrypted come.
    ///
    /// - Throws: `SignInError`, `DeviceProfileError` where the device does not have it; the text says what to do.
    func secret() throws -> AccountSecret
    /// The user's record name in the container; nil where the device would have to ask the cloud.
    var userRecordName: String? { get }
    /// Stores, for every process, the problem that the cloud reported for the account of a device.
    func remember(_ trouble: AccountIssue, of device: String)
    /// Returns whether others may find the user; nil: the person has not decided.
    func isDiscoverable() async throws -> Bool?
    /// The people that the user knows, for discovery.
    func contacts() throws -> [LookupInfo]
    /// Asks the cloud for the state of the account, and remembers it.
    ///
    /// - Throws: The reason why the cloud has not said it, or refuses the device.
    func verify() async throws
}

extension DeviceAccount {
    /// An account that is not kept anywhere remembers nothing.
    package func remember(_ trouble: AccountIssue, of device: String) {}
    /// An account that is not kept anywhere has no such setting.
    package func isDiscoverable() async throws -> Bool? { nil }
    /// An account that is not kept anywhere has no contacts.
    package func contacts() throws -> [LookupInfo] { [] }
    /// Does nothing: an account that is not kept anywhere remembers no trouble.
    package func verify() async throws {}
}

/// The account of a profile folder.
struct ProfileAccount: DeviceAccount {
    let configuration: DeviceConfiguration
    let container: String
    let profile: DeviceProfile
    let signIn: SignIn

    init(configuration: DeviceConfiguration, container: String, transport: any Transport) {
        self.configuration = configuration
        self.container = container
        profile = configuration.deviceProfile
        signIn = SignIn(configuration: configuration, sendingBy: transport)
    }

    var state: AccountState { profile.accountState }

    var apiToken: String? {
        configuration.apiToken(for: container) ?? (try? entry)?.apiToken
    }

    private var entry: ContainerCredentials? {
        get throws {
            try profile.credentials(
                at: configuration.endpoint, for: container, environment: configuration.environment)
        }
    }

    func webAuthToken() async throws -> String? {
        if let entry = try entry { return entry.webAuthToken }
        return try await signIn.open(container: container)?.webAuthToken
    }

    func webAuthToken(insteadOf refused: String) async throws -> String? {
        if let entry = try entry, entry.webAuthToken != refused { return entry.webAuthToken }
        return try await signIn.open(container: container)?.webAuthToken
    }

    func webAuthToken(beside apiToken: String) async throws -> String? {
        try await signIn.webAuthToken(container: container, apiToken: apiToken)
    }

    func keep(rotated token: String, of device: String) {
        // A token that could not be written does no harm: the one on disk stays valid until it expires.
        try? profile.store(rotated: token, for: container, environment: configuration.environment, of: device)
    }

    func secret() throws -> AccountSecret {
        guard let keychain = try profile.keychain() else {
            throw try profile.credentials() == nil ? SignInError.notSignedIn : SignInError.keysMissing
        }
        return keychain.secret
    }

    var userRecordName: String? { (try? entry)?.userRecordName }

    func remember(_ trouble: AccountIssue, of device: String) {
        // A profile that cannot be written is reported where it is read.
        try? profile.mark(trouble, of: device)
    }

    func isDiscoverable() async throws -> Bool? { try await signIn.isDiscoverable(container: container) }

    func contacts() throws -> [LookupInfo] {
        guard let path = configuration.contactsFile else { return [] }
        let contacts = try ContactsFile(path: path)
        return contacts.emailAddresses.map { LookupInfo(emailAddress: $0) }
            + contacts.phoneNumbers.map { LookupInfo(phoneNumber: $0) }
    }

    func verify() async throws { try await signIn.verify(container: container) }
}

extension SignIn {
    /// Signs devices in by way of the framework's transport.
    ///
    /// - Parameter rounds: Fewer than the default only for tests.
    package init(
        configuration: DeviceConfiguration, sendingBy transport: any Transport,
        rounds: Int = PasswordProof.roundsDefault
    ) {
        self.init(configuration: configuration, rounds: rounds) { request in
            guard let message = TransportRequest(request) else { throw SignInError.answerMalformed }
            let response = try await transport.send(message)
            return DeviceResponse(status: response.status, body: response.body)
        }
    }
}
