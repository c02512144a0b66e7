/// The credentials of a signed-in device: the account, its own secret, and a web token for each container it has opened.
package struct DeviceCredentials: Codable, Hashable, Sendable {
    /// The cloud to which all of this belongs.
    package var endpoint: String
    /// The email address of the account.
    package var email: String
    /// Names the account in this profile: made when its user signs in, and kept when the same user signs in again. Accounts are not known by
    /// their addresses, since a removed one may be followed by another of the same. nil: stored by an earlier version.
    package var accountID: String?
    /// The id of the device.
    package var deviceID: String
    /// Opens further containers without the password; the cloud stores its hash.
    package var deviceSecret: String
    /// The credentials for each container.
    package var containers: [ContainerCredentials]
    /// The reason why the device has no private data, as last reported; nil if there is none.
    package var trouble: AccountIssue?

    /// Creates a value with the given properties.
    package init(
        endpoint: String, email: String, deviceID: String, deviceSecret: String,
        containers: [ContainerCredentials] = []
    ) {
        self.endpoint = endpoint
        self.email = email
        self.deviceID = deviceID
        self.deviceSecret = deviceSecret
        self.containers = containers
    }

    /// The credentials for one container in one environment.
    package subscript(container: String, environment: String) -> ContainerCredentials? {
        get { containers.first { $0.container == container && $0.environment == environment } }
        set {
            containers.removeAll { $0.container == container && $0.environment == environment }
            if let newValue { containers.append(newValue) }
        }
    }
}

/// A device's standing in one container and environment.
package struct ContainerCredentials: Codable, Hashable, Sendable {
    /// The container.
    package var container: String
    /// The environment.
    package var environment: String
    /// The API token.
    package var apiToken: String
    /// The web auth token.
    package var webAuthToken: String
    /// The user's record name in this container (B-USR-01).
    package var userRecordName: String
    /// The time at which the web token was written here, in milliseconds since 1970.
    package var stored: Int64
    /// The lifetime of a fresh web token in milliseconds.
    package var lifetime: Int64

    /// Creates a value with the given properties.
    package init(
        container: String, environment: String, apiToken: String, webAuthToken: String, userRecordName: String,
        stored: Int64, lifetime: Int64
    ) {
        self.container = container
        self.environment = environment
        self.apiToken = apiToken
        self.webAuthToken = webAuthToken
        self.userRecordName = userRecordName
        self.stored = stored
        self.lifetime = lifetime
    }

    /// Returns a Boolean value that indicates whether a token is so much newer that it is worth a write to disk: the
    /// server sends one with every answer, and old ones stay valid until they expire.
    func shouldReplace(at now: Int64) -> Bool {
        now - stored >= min(lifetime / 20, 3_600_000) || now < stored
    }
}
