import Foundation

/// Signs a device in, opens further containers for it, and signs it out.
package struct SignIn: Sendable {
    private let configuration: DeviceConfiguration
    private let send: DeviceSend

    package init(configuration: DeviceConfiguration, send: @escaping DeviceSend) {
        self.configuration = configuration
        self.send = send
    }

    /// Proves the password and stores what the cloud gives for it in the profile.
    ///
    /// - Parameter deviceName: What the account's owner sees in the list of devices.
    /// - Throws: `SignInError`, `DeviceProfileError`.
    package func signIn(
        email: String, password: String, deviceName: String, container: String
    ) async throws -> DeviceCredentials {
        let puzzle: Puzzle = try await post("prepare", container, ["email": email])
        guard (1...PasswordProof.roundsMax).contains(puzzle.rounds), let salt = Data(base64Encoded: puzzle.salt) else {
            throw SignInError.answerMalformed
        }
        let proof = try PasswordProof(password: password, salt: Array(salt), rounds: puzzle.rounds)
        let session: Session = try await post(
            "create", container,
            [
                "email": email, "proof": Data(proof.bytes).base64EncodedString(), "deviceName": deviceName,
                "lifetime": "device",
            ])
        guard let deviceSecret = session.deviceSecret else { throw SignInError.answerMalformed }
        var credentials = DeviceCredentials(
            endpoint: configuration.endpoint, email: email, deviceID: session.deviceID, deviceSecret: deviceSecret)
        credentials[container, configuration.environment] = try entry(session, container)
        try configuration.deviceProfile.store(credentials)
        return credentials
    }

    /// Opens a container for the signed-in device, or opens it again after its web token expired.
    ///
    /// - Returns: The new entry, already stored; nil when nobody is signed in.
    package func open(container: String) async throws -> ContainerCredentials? {
        let profile = configuration.deviceProfile
        guard let credentials = try profile.credentials() else { return nil }
        guard credentials.endpoint == configuration.endpoint else {
            throw SignInError.otherCloud(credentials.endpoint)
        }
        let session: Session = try await post(
            "create", container,
            ["deviceID": credentials.deviceID, "deviceSecret": credentials.deviceSecret, "lifetime": "device"])
        let entry = try entry(session, container)
        try profile.store(entry)
        return entry
    }

    /// Ends the session at the cloud, so that its tokens are worth nothing, and forgets it here.
    ///
    /// The device is signed out here even when the cloud cannot be reached; the error then says so.
    package func signOut(container: String) async throws {
        let profile = configuration.deviceProfile
        guard let credentials = try profile.credentials() else { return }
        try profile.signOut()
        guard credentials.endpoint == configuration.endpoint else { return }
        let _: Empty = try await post(
            "delete", container, ["deviceID": credentials.deviceID, "deviceSecret": credentials.deviceSecret])
    }

    private func entry(_ session: Session, _ container: String) throws -> ContainerCredentials {
        let now = DeviceProfile.now
        return ContainerCredentials(
            container: container, environment: configuration.environment, apiToken: try apiToken(container),
            webAuthToken: session.ckWebAuthToken, userRecordName: session.userRecordName, stored: now,
            lifetime: max(0, session.expires - now))
    }

    private func apiToken(_ container: String) throws -> String {
        guard let token = configuration.apiToken(for: container) else { throw SignInError.apiTokenMissing(container) }
        return token
    }

    private func post<Answer: Decodable>(
        _ action: String, _ container: String, _ body: [String: String]
    ) async throws -> Answer {
        let path = "/device/1/\(container.percentEncoded)/\(configuration.environment)/sessions/\(action)"
        let request = DeviceRequest(
            method: "POST",
            url: configuration.endpoint + path + "?ckAPIToken=" + (try apiToken(container)).percentEncoded,
            headers: ["Content-Type": "application/json", "X-Welkin-Client": "sdk/1"],
            body: Array(try JSONEncoder().encode(body)))
        let response = try await send(request)
        guard response.status == 200 else {
            let failure = try? JSONDecoder().decode(Failure.self, from: Data(response.body))
            throw SignInError.refused(
                status: response.status, reason: failure?.reason ?? "HTTP status \(response.status)",
                retryAfter: failure?.retryAfter)
        }
        do {
            return try JSONDecoder().decode(Answer.self, from: Data(response.body))
        } catch {
            throw SignInError.answerMalformed
        }
    }

    private struct Empty: Decodable {}

    private struct Puzzle: Decodable {
        var salt: String
        var rounds: Int
    }

    private struct Session: Decodable {
        var ckWebAuthToken: String
        var userRecordName: String
        var deviceID: String
        var deviceSecret: String?
        var expires: Int64
    }

    private struct Failure: Decodable {
        var reason: String?
        var retryAfter: Double?
    }
}

/// Why a sign-in did not work.
package enum SignInError: Error, Hashable, Sendable, CustomStringConvertible {
    case refused(status: Int, reason: String, retryAfter: Double?)
    case answerMalformed
    case apiTokenMissing(String)
    case otherCloud(String)

    package var description: String {
        switch self {
        case .refused(_, let reason, let retryAfter):
            retryAfter.map { "\(reason). Try again in \(Int($0.rounded(.up))) seconds." } ?? reason
        case .answerMalformed:
            "The endpoint did not answer as a Welkin cloud does. Check CLOUDKIT_ENDPOINT."
        case .apiTokenMissing(let container):
            "No API token is configured for \(container). Make one with: welkin token create \(container), "
                + "and set CLOUDKIT_API_TOKEN."
        case .otherCloud(let endpoint):
            "This profile is signed in at \(endpoint). Use another CLOUDKIT_PROFILE, or sign out first: welkin logout"
        }
    }
}

extension String {
    /// For one segment of a path or one value of a query.
    package var percentEncoded: String {
        var result = ""
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let hex = String(byte, radix: 16, uppercase: true)
                result += byte < 16 ? "%0\(hex)" : "%\(hex)"
            }
        }
        return result
    }
}
