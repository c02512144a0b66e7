import CloudKitEncryption
import Foundation
import TextEncodings

/// Signs a device in, opens further containers for it, and signs it out.
package struct SignIn: Sendable {
    let configuration: DeviceConfiguration
    let cloud: DeviceCloud
    /// The fewest rounds of a password's derivation that this device works, and those of a password it sets.
    let rounds: Int

    /// - Parameter rounds: Fewer than the default only for tests.
    package init(
        configuration: DeviceConfiguration, rounds: Int = PasswordProof.roundsDefault, send: @escaping DeviceTransport
    ) {
        self.configuration = configuration
        self.rounds = rounds
        cloud = DeviceCloud(configuration: configuration, send: send)
    }

    /// The outcome of a sign-in.
    package struct Outcome: Sendable {
        /// The credentials, already stored in the profile.
        package var credentials: DeviceCredentials
        /// The state of the account's keys on this device.
        package var keys: Keys

        /// The state of the account's keys on this device.
        package enum Keys: Equatable, Sendable {
            case opened
            /// This device made them; the words have to be shown now, for they are kept nowhere.
            case made(recoveryWords: [String])
            /// The password does not open them: `AccountIssue.keysLocked`.
            case locked
        }
    }

    /// Proves the password, opens the account's keychain with it or makes one, and stores both in the profile. The account
    /// that the profile was signed in with before is signed out.
    ///
    /// A profile that has the account's keys already keeps them when the password does not open the keychain, and wraps them
    /// with this password: so a password that the operator set opens the keychain from then on.
    ///
    /// - Parameters:
    ///   - deviceName: The name that the account's owner sees in the list of devices.
    ///   - keepsAccount: Whether the person takes back the wish that the account is deleted.
    /// - Throws: `SignInError`, `DeviceProfileError`, `EncryptionError`.
    package func signIn(
        email: String, password: String, deviceName: String, container: String, keepsAccount: Bool = false
    ) async throws -> Outcome {
        let address = try AccountAddress(email)
        let root = try await root(of: password, address: address, container: container)
        let profile = configuration.deviceProfile
        // Damage does not stop a user who proves the password: signing in repairs it.
        let before = try? profile.credentials()
        let old = before?.endpoint == configuration.endpoint ? try? profile.keychain() : nil
        while true {
            let session = try await openSession(
                address, root, deviceName: deviceName, in: container, keepsAccount: keepsAccount)
            let keys: (outcome: Outcome.Keys, keychain: DeviceKeychain?)
            do {
                keys = try await self.keys(of: session, root: root, address: address, in: container, old: old)
            } catch SignInError.refused(let refusal) where refusal.code == "conflict" {
                // Another device made the keychain in this very moment; with a new session it comes along.
                try? await end(session.proof, container)
                continue
            } catch {
                try? await end(session.proof, container)
                throw error
            }
            return try await keep(session, for: address, with: keys, in: container, replacing: before)
        }
    }

    /// Stores a session and its keys in the profile, in place of what was there before.
    func keep(
        _ session: OpenedSession, for address: AccountAddress,
        with keys: (outcome: Outcome.Keys, keychain: DeviceKeychain?),
        in container: String, replacing before: DeviceCredentials?
    ) async throws -> Outcome {
        var credentials = DeviceCredentials(
            endpoint: configuration.endpoint, email: address.text, deviceID: session.deviceID,
            deviceSecret: session.secret)
        credentials[container, configuration.environment] = try entry(session.answer, container)
        credentials.trouble = keys.keychain == nil ? .keysLocked : nil
        let isSameUser = await isUser(of: session, before, email: address.text)
        credentials.accountID = isSameUser ? before?.accountID : UUID().uuidString
        let hasSameKeys = (try? configuration.deviceProfile.keychain())?.secret == keys.keychain?.secret
        do {
            try configuration.deviceProfile.store(credentials, keychain: keys.keychain)
        } catch {
            // A session that no device has would stay in the list of devices.
            try? await end(session.proof, container)
            throw error
        }
        if !isSameUser {
            // Whatever a cloud says of its users, what a device remembers of records outlives it, as long as keys open these.
            let isElsewhere = before?.email != credentials.email || before?.endpoint != credentials.endpoint
            try removeFiles(keepsMemories: !isElsewhere && (hasSameKeys || keys.keychain == nil))
        }
        if let before, before.endpoint == configuration.endpoint { try? await end(before.proof, container) }
        return Outcome(credentials: credentials, keys: keys.outcome)
    }

    /// Returns a Boolean value that indicates whether a new session is one of the user who was signed in before. An account that was removed, and
    /// one of the same address that was made since, have other record names.
    private func isUser(of session: OpenedSession, _ before: DeviceCredentials?, email: String) async -> Bool {
        guard let before, before.endpoint == configuration.endpoint else { return false }
        if let known = before[session.container, configuration.environment] {
            return known.userRecordName == session.answer.userRecordName
        }
        // Each container has names of its own.
        guard let known = before.containers.first(where: { $0.environment == configuration.environment }),
            let answer: SessionAnswer = try? await cloud.post(
                "sessions/create", in: known.container, session.proof, apiToken: known.apiToken)
        else { return before.email == email }
        return known.userRecordName == answer.userRecordName
    }

    /// Creates an account, where the cloud allows users to do so, or with an invitation of its operator.
    ///
    /// - Parameter invitation: The code of the invitation.
    /// - Throws: `SignInError`.
    package func signUp(
        email: String, name: String, password: String, container: String, invitation: String? = nil
    ) async throws {
        let address = try AccountAddress(email)
        let puzzle = newKeyDerivation
        let root = try PasswordRoot(password: password, salt: puzzle.salt, rounds: puzzle.rounds)
        var body: DeviceCloud.Body = [
            "email": .text(address.text), "name": .text(name), "proof": .bytes(root.proof),
            "salt": .bytes(puzzle.salt), "rounds": .number(puzzle.rounds),
        ]
        if let invitation { body["invitation"] = .text(invitation) }
        let _: DeviceCloud.Done = try await cloud.post("accounts/create", in: container, body)
    }

    /// Opens a container for the signed-in device, or opens it again after its web token expired.
    ///
    /// The state of the account that the cloud reports is remembered in the profile.
    ///
    /// - Returns: The new entry, already stored; nil when no account is signed in.
    package func open(container: String) async throws -> ContainerCredentials? {
        let profile = configuration.deviceProfile
        guard let credentials = try profile.credentials() else { return nil }
        guard credentials.endpoint == configuration.endpoint else {
            throw SignInError.otherCloud(credentials.endpoint)
        }
        do {
            var body = credentials.proof
            body["lifetime"] = "device"
            let session: SessionAnswer = try await cloud.post("sessions/create", in: container, body)
            let entry = try entry(session, container)
            try profile.store(entry, of: credentials.deviceID)
            try profile.clear(.disabled, of: credentials.deviceID)
            return entry
        } catch SignInError.refused(let refusal) {
            if let trouble = refusal.trouble { try profile.mark(trouble, of: credentials.deviceID) }
            throw SignInError.refused(refusal)
        }
    }

    /// Returns a web token of this device's user for another API token of the container; it ends with the device's session.
    ///
    /// - Returns: nil when no account is signed in.
    /// - Throws: `SignInError.refused` with `unknownAPIToken` for an API token that the container does not have.
    package func webAuthToken(container: String, apiToken: String) async throws -> String? {
        guard let credentials = try configuration.deviceProfile.credentials() else { return nil }
        guard credentials.endpoint == configuration.endpoint else {
            throw SignInError.otherCloud(credentials.endpoint)
        }
        let session: SessionAnswer = try await cloud.post(
            "sessions/create", in: container, credentials.proof, apiToken: apiToken)
        return session.ckWebAuthToken
    }

    /// Ends the session at the cloud, so that its tokens are worth nothing, and forgets it and the keys here, with the files
    /// that were fetched and the links that were opened.
    ///
    /// The device is signed out here even when the cloud cannot be reached, or a file does not go; the error then says so.
    /// Files that a running app holds go when it ends.
    package func signOut(container: String) async throws {
        let profile = configuration.deviceProfile
        guard let credentials = try profile.credentials() else { return }
        try profile.signOut()
        let cleaning = Result { try removeFiles() }
        if credentials.endpoint == configuration.endpoint {
            do {
                try await end(credentials.proof, container)
            } catch SignInError.refused(let refusal) where refusal.trouble == .sessionEnded {
                // It was over already.
            }
        }
        try cleaning.get()
    }

    /// Removes everything that the earlier account fetched and opened in the profile.
    ///
    /// - Parameter keepsMemories: As for `DeviceProfile.forgetUser(keepsMemories:)`.
    /// - Throws: `SignInError.filesRemain`.
    private func removeFiles(keepsMemories: Bool = false) throws(SignInError) {
        let cache = configuration.assetCache?.folder(of: configuration.profile)
        do throws(FileFailure) {
            try configuration.deviceProfile.forgetUser(keepsMemories: keepsMemories)
            if let cache { try AssetCacheFolder(cache).empty() }
        } catch {
            throw .filesRemain(cache?.folder ?? configuration.deviceProfile.folder, error)
        }
    }

    // MARK: Sessions

    struct OpenedSession {
        /// The container in which it was opened.
        var container: String
        var answer: SessionAnswer
        var secret: String
        var deviceID: String { answer.deviceID }
        var proof: DeviceCloud.Body { ["deviceID": .text(deviceID), "deviceSecret": .text(secret)] }
    }

    private func openSession(
        _ address: AccountAddress, _ root: PasswordRoot, deviceName: String, in container: String,
        keepsAccount: Bool
    ) async throws -> OpenedSession {
        var body: DeviceCloud.Body = [
            "email": .text(address.text), "proof": .bytes(root.proof), "deviceName": .text(deviceName),
            "lifetime": "device",
        ]
        if keepsAccount { body["keepsAccount"] = .flag(true) }
        return try await openSession(body, in: container)
    }

    func openSession(_ body: DeviceCloud.Body, in container: String) async throws -> OpenedSession {
        let answer: SessionAnswer = try await cloud.post("sessions/create", in: container, body)
        // The id becomes part of a file's name.
        guard let secret = answer.deviceSecret, DeviceProfile.isValidName(answer.deviceID) else {
            throw SignInError.answerMalformed
        }
        return OpenedSession(container: container, answer: answer, secret: secret)
    }

    func end(_ proof: DeviceCloud.Body, _ container: String) async throws {
        let _: DeviceCloud.Done = try await cloud.post("sessions/delete", in: container, proof)
    }

    private func entry(_ session: SessionAnswer, _ container: String) throws -> ContainerCredentials {
        let now = DeviceProfile.now
        return ContainerCredentials(
            container: container, environment: configuration.environment, apiToken: try cloud.apiToken(container),
            webAuthToken: session.ckWebAuthToken, userRecordName: session.userRecordName, stored: now,
            lifetime: max(0, session.expires - now))
    }

    // MARK: Keys

    private func keys(
        of session: OpenedSession, root: PasswordRoot, address: AccountAddress, in container: String,
        old: DeviceKeychain?
    ) async throws -> (Outcome.Keys, DeviceKeychain?) {
        guard let held = session.answer.keychain else {
            return try await makeKeys(of: session, root: root, address: address, in: container)
        }
        if let secret = try Self.open(held, with: root, address: address) {
            guard try Self.fits(secret, held.identity) else { throw SignInError.keychainForged }
            return (.opened, DeviceKeychain(account: address.text, generation: held.generation, secret: secret))
        }
        guard let old, old.account == address.text, try Self.fits(old.secret, held.identity) else {
            return (.locked, nil)
        }
        var body = session.proof
        body["proof"] = .bytes(root.proof)
        body["generation"] = .number(held.generation)
        body["passwordWrap"] = .bytes(try old.secret.sealed(under: root.wrappingKey, account: address.text))
        let _: DeviceCloud.Done = try await cloud.post("keychain/rewrap", in: container, body)
        return (.opened, DeviceKeychain(account: address.text, generation: held.generation, secret: old.secret))
    }

    /// Makes the keys of an account that has none.
    ///
    /// - Parameter root: nil: no password opens them.
    /// - Throws: `DeviceProfileError` where the profile has no room for them: nobody would ever see their recovery words.
    func makeKeys(
        of session: OpenedSession, root: PasswordRoot?, address: AccountAddress, in container: String
    ) async throws -> (Outcome.Keys, DeviceKeychain?) {
        try configuration.deviceProfile.checkWritable()
        let secret = AccountSecret()
        let recovery = RecoveryKey()
        var body = session.proof
        body.merge(try Self.offer(secret, root: root, recovery: recovery, address: address)) { $1 }
        let made: GenerationAnswer = try await cloud.post("keychain/create", in: container, body)
        return (
            .made(recoveryWords: recovery.words),
            DeviceKeychain(account: address.text, generation: made.generation, secret: secret)
        )
    }

    /// The account secret; nil when it was wrapped by another password.
    private static func open(
        _ held: SessionAnswer.Wrapped, with root: PasswordRoot, address: AccountAddress
    ) throws(EncryptionError) -> AccountSecret? {
        do throws(EncryptionError) {
            return try AccountSecret(sealed: Array(held.passwordWrap), under: root.wrappingKey, account: address.text)
        } catch {
            guard case .doesNotOpen = error else { throw error }
            return nil
        }
    }

    /// Returns a Boolean value that indicates whether a secret is the one that a public identity belongs to.
    static func fits(_ secret: AccountSecret, _ identity: Data) throws -> Bool {
        try secret.identity().publicIdentity == PublicIdentity(bytes: Array(identity))
    }

    /// A new keychain's wrapped parts.
    ///
    /// - Parameter root: nil: no password opens it.
    static func offer(
        _ secret: AccountSecret, root: PasswordRoot?, recovery: RecoveryKey, address: AccountAddress
    ) throws -> DeviceCloud.Body {
        var body: DeviceCloud.Body = [
            "recoveryWrap": .bytes(try secret.sealed(under: recovery.wrappingKey, account: address.text)),
            "recoveryProof": .bytes(recovery.proof), "identity": .bytes(try secret.identity().publicIdentity.bytes),
        ]
        if let root {
            body["passwordWrap"] = .bytes(try secret.sealed(under: root.wrappingKey, account: address.text))
        }
        return body
    }

    /// Returns the keys that a password gives for an account; the one long computation of a sign-in.
    func root(of password: String, address: AccountAddress, container: String) async throws -> PasswordRoot {
        let puzzle: Puzzle = try await cloud.post("sessions/prepare", in: container, ["email": .text(address.text)])
        guard (1...PasswordProof.roundsMax).contains(puzzle.rounds), let salt = Base64.decode(puzzle.salt) else {
            throw SignInError.answerMalformed
        }
        guard puzzle.rounds >= rounds else { throw SignInError.passwordTooCheap(rounds: puzzle.rounds) }
        return try PasswordRoot(password: password, salt: salt, rounds: puzzle.rounds)
    }

    /// Salt and rounds for a password about to be set.
    var newKeyDerivation: (salt: [UInt8], rounds: Int) { (Randomness.system.bytes(16), rounds) }

    private struct Puzzle: Decodable {
        var salt: String
        var rounds: Int
    }

    struct GenerationAnswer: Decodable {
        var generation: Int
    }
}

/// The answer to opening a session.
struct SessionAnswer: Decodable {
    var ckWebAuthToken: String
    var userRecordName: String
    var deviceID: String
    var deviceSecret: String?
    var expires: Int64
    /// The account's address, after a sign-in by something else.
    var email: String?
    /// nil when the account has none.
    var keychain: Wrapped?

    struct Wrapped: Decodable {
        var generation: Int
        var passwordWrap: Data
        var identity: Data
    }
}
