/// What a signed-in device keeps: whose it is, its own secret, and a web token for each container it has opened.
package struct DeviceCredentials: Codable, Hashable, Sendable {
    /// The cloud to which all of this belongs.
    package var endpoint: String
    package var email: String
    package var deviceID: String
    /// Opens further containers without the password; the cloud stores its hash.
    package var deviceSecret: String
    package var containers: [ContainerCredentials]
    /// What keeps the device from private data, as last heard; nil: nothing.
    package var trouble: AccountTrouble?

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
    package var container: String
    package var environment: String
    package var apiToken: String
    package var webAuthToken: String
    /// The user's record name in this container (B-USR-01).
    package var userRecordName: String
    /// When the web token was written here, milliseconds since 1970.
    package var stored: Int64
    /// How long a fresh web token lives, milliseconds.
    package var lifetime: Int64

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

    /// Whether a token this much newer is worth a write to disk: the server sends one with every answer, and old ones
    /// stay good until they expire.
    func isWorthReplacing(at now: Int64) -> Bool {
        now - stored >= min(lifetime / 20, 3_600_000) || now < stored
    }
}
