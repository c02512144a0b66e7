import Foundation

/// A device or browser of the account, as its owner sees it.
package struct ListedDevice: Codable, Hashable, Sendable {
    /// The id of the device.
    package var deviceID: String
    /// The name of the device.
    package var name: String
    /// Milliseconds since 1970.
    package var created: Int64
    /// The end of the session, in milliseconds since 1970.
    package var expires: Int64
    /// A Boolean value that indicates whether it is a browser.
    package var isBrowser: Bool
    /// The one that asks.
    package var isCaller: Bool
    /// A Boolean value that indicates whether its keys are those of a keychain that was reset.
    package var isOutdated: Bool
}

extension SignIn {
    /// The devices and browsers with which the account is signed in, oldest first.
    package func devices(container: String) async throws -> [ListedDevice] {
        let (credentials, _) = try signedIn()
        let answer: DevicesAnswer = try await post("devices/list", in: container, credentials.proof, as: credentials)
        return answer.devices
    }

    /// Signs another device out.
    ///
    /// - Parameter id: Its id, or the first digits of it.
    package func revoke(_ id: String, container: String) async throws {
        let (credentials, _) = try signedIn()
        var body = credentials.proof
        body["revoke"] = .text(id)
        try await done("devices/revoke", in: container, body, as: credentials)
    }

    /// Gives a device of the account another name.
    ///
    /// - Parameters:
    ///   - id: Its id, or the first digits of it.
    ///   - name: 1 to 100 characters.
    package func rename(_ id: String, to name: String, container: String) async throws {
        let (credentials, _) = try signedIn()
        var body = credentials.proof
        body["rename"] = .text(id)
        body["name"] = .text(name)
        try await done("devices/rename", in: container, body, as: credentials)
    }

    /// Asks the cloud for the state of the account and of this device's keys, and remembers it in the profile.
    ///
    /// - Throws: `SignInError`, also when the cloud refuses the device, and the errors of sending.
    package func verify(container: String) async throws {
        let (credentials, _) = try signedIn()
        let status: StatusAnswer = try await post("keychain/get", in: container, credentials.proof, as: credentials)
        let profile = configuration.deviceProfile
        if status.isOutdated {
            try profile.mark(.keysReset, of: credentials.deviceID)
        } else {
            try profile.clear(.disabled, of: credentials.deviceID)
        }
    }

    /// Returns the account that is signed in here, at this cloud.
    func signedIn() throws -> (credentials: DeviceCredentials, address: AccountAddress) {
        guard let credentials = try configuration.deviceProfile.credentials() else { throw SignInError.notSignedIn }
        guard credentials.endpoint == configuration.endpoint else {
            throw SignInError.otherCloud(credentials.endpoint)
        }
        return (credentials, try AccountAddress(credentials.email))
    }

    /// Sends a request of a signed-in device and remembers the state of its account that the cloud reports.
    func post<Answer: Decodable>(
        _ action: String, in container: String, _ body: DeviceCloud.Body, as credentials: DeviceCredentials
    ) async throws -> Answer {
        do {
            return try await cloud.post(action, in: container, body)
        } catch SignInError.refused(let refusal) {
            // A wrong password is refused in the same way as a device that is not signed in, and means nothing here.
            if let trouble = refusal.trouble, trouble != .sessionEnded || body["proof"] == nil {
                try configuration.deviceProfile.mark(trouble, of: credentials.deviceID)
            }
            throw SignInError.refused(refusal)
        }
    }

    func done(
        _ action: String, in container: String, _ body: DeviceCloud.Body, as credentials: DeviceCredentials
    ) async throws {
        let _: DeviceCloud.Done = try await post(action, in: container, body, as: credentials)
    }

    private struct StatusAnswer: Decodable {
        var isOutdated: Bool
    }

    private struct DevicesAnswer: Decodable {
        var devices: [ListedDevice]
    }
}
