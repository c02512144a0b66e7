import CloudKitEncryption
import Foundation

extension SignIn {
    /// Sets another password; this device and all others stay signed in, and nothing is encrypted again.
    ///
    /// - Throws: `SignInError`, `keysMissing` on a device without the account's keys.
    package func changePassword(from old: String, to new: String, container: String) async throws {
        let (credentials, address) = try signedIn()
        guard let keychain = try configuration.deviceProfile.keychain() else { throw SignInError.keysMissing }
        let oldRoot = try await root(of: old, address: address, container: container)
        var body = credentials.proof
        body["proof"] = .bytes(oldRoot.proof)
        body["generation"] = .number(keychain.generation)
        body.merge(try newPassword(new, secret: keychain.secret, address: address)) { $1 }
        try await done("accounts/password", in: container, body, as: credentials)
    }

    /// Makes new recovery words; the old ones are then worth nothing.
    ///
    /// - Returns: The words, to be shown now.
    package func renewRecoveryWords(password: String, container: String) async throws -> [String] {
        let (credentials, address) = try signedIn()
        guard let keychain = try configuration.deviceProfile.keychain() else { throw SignInError.keysMissing }
        let root = try await root(of: password, address: address, container: container)
        let recovery = RecoveryKey()
        var body = credentials.proof
        body["proof"] = .bytes(root.proof)
        body["generation"] = .number(keychain.generation)
        body["recoveryWrap"] = .bytes(
            try keychain.secret.sealed(under: recovery.wrappingKey, account: address.text))
        body["recoveryProof"] = .bytes(recovery.proof)
        try await done("keychain/rewrap", in: container, body, as: credentials)
        return recovery.words
    }

    /// Replaces the account's keys. All data that the old ones encrypted is lost, on every device (B-ZN-12).
    ///
    /// All devices have to sign in again. This one does so here; where that fails, or the answer does not come, its user has to.
    ///
    /// - Returns: The new recovery words, to be shown now.
    package func resetKeychain(password: String, container: String) async throws -> [String] {
        let (credentials, address) = try signedIn()
        let root = try await root(of: password, address: address, container: container)
        let held: GenerationAnswer = try await post("keychain/get", in: container, credentials.proof, as: credentials)
        let name = try await devices(container: container).first(where: \.isCaller)?.name ?? ""
        let recovery = RecoveryKey()
        var body = credentials.proof
        body["proof"] = .bytes(root.proof)
        body["generation"] = .number(held.generation)
        body.merge(try Self.offer(AccountSecret(), root: root, recovery: recovery, address: address)) { $1 }
        try await done("keychain/reset", in: container, body, as: credentials)
        do {
            _ = try await signIn(
                email: credentials.email, password: password, deviceName: name, container: container)
        } catch {
            // The words are shown now or never.
            try? configuration.deviceProfile.mark(.keysReset, of: credentials.deviceID)
        }
        return recovery.words
    }

    /// Opens an account with its recovery words, sets a password and signs this device in with it.
    ///
    /// - Throws: `RecoveryKeyError` for words that are none, `SignInError`.
    package func recover(
        email: String, words: String, password: String, deviceName: String, container: String
    ) async throws -> Outcome {
        let address = try AccountAddress(email)
        let recovery = try RecoveryKey(words: words)
        let held: RecoveryAnswer = try await cloud.post(
            "keychain/recovery", in: container,
            ["email": .text(address.text), "recoveryProof": .bytes(recovery.proof)])
        let secret = try AccountSecret(
            sealed: Array(held.recoveryWrap), under: recovery.wrappingKey, account: address.text)
        guard try Self.fits(secret, held.identity) else { throw SignInError.keychainForged }
        var body = try newPassword(password, secret: secret, address: address)
        body["email"] = .text(address.text)
        body["recoveryProof"] = .bytes(recovery.proof)
        body["generation"] = .number(held.generation)
        let _: DeviceCloud.Done = try await cloud.post("keychain/recover", in: container, body)
        return try await signIn(email: email, password: password, deviceName: deviceName, container: container)
    }

    /// A password about to be set, and the secret wrapped with it.
    private func newPassword(
        _ password: String, secret: AccountSecret, address: AccountAddress
    ) throws -> DeviceCloud.Body {
        let puzzle = newKeyDerivation
        let root = try PasswordRoot(password: password, salt: puzzle.salt, rounds: puzzle.rounds)
        return [
            "newProof": .bytes(root.proof), "salt": .bytes(puzzle.salt), "rounds": .number(puzzle.rounds),
            "passwordWrap": .bytes(try secret.sealed(under: root.wrappingKey, account: address.text)),
        ]
    }

    private struct RecoveryAnswer: Decodable {
        var generation: Int
        var recoveryWrap: Data
        var identity: Data
    }
}
