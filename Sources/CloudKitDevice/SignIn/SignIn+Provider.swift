import CloudKitEncryption
import Crypto
import Foundation
import TextEncodings

/// A sign-in at a provider of identities that this device has begun.
package struct ProviderDeparture: Sendable {
    /// Where the person's browser goes.
    package let url: String
    /// What the browser has to bring back.
    package let state: String
    /// Stays on this device: what the provider answers is worth nothing without it.
    let secret: [UInt8]
}

/// A person whom the provider has vouched for.
package struct ProviderArrival: Decodable, Sendable {
    let ticket: String
    /// Whether the person has an account at this cloud.
    package let hasAccount: Bool
    /// The address that the provider has of the person.
    package let email: String?
}

extension SignIn {
    /// Begins a sign-in at the cloud's provider of identities.
    ///
    /// - Parameters:
    ///   - port: Where this device waits for the browser that comes back.
    ///   - container: The container by which the cloud is reached.
    ///   - random: Gives the secret.
    package func leaveForProvider(
        port: UInt16, container: String, random: Randomness = .system
    ) async throws -> ProviderDeparture {
        let secret = random.bytes(32)
        let begun: BeginAnswer = try await cloud.post(
            "providers/begin", in: container,
            ["binding": .bytes(Array(SHA256.hash(data: secret))), "port": .number(Int(port))])
        // A browser is opened with it.
        guard begun.url.hasPrefix("https://") || begun.url.hasPrefix("http://"),
            let state = URLComponents(string: begun.url)?.queryItems?.first(where: { $0.name == "state" })?.value
        else { throw SignInError.answerMalformed }
        return ProviderDeparture(url: begun.url, state: state, secret: secret)
    }

    /// Asks the cloud about the person who came back.
    ///
    /// - Parameters:
    ///   - state: As the browser brought it.
    ///   - code: As the browser brought it.
    ///   - departure: The sign-in.
    ///   - container: The container by which the cloud is reached.
    package func arrive(
        state: String, code: String, from departure: ProviderDeparture, container: String
    ) async throws -> ProviderArrival {
        try await cloud.post(
            "providers/finish", in: container,
            ["state": .text(state), "code": .text(code), "secret": .bytes(departure.secret)])
    }

    /// Signs this device in for a person whom the provider vouches for. The provider has nothing that opens data: the keys of an account that has
    /// some are opened afterwards, by its recovery words or by another device (`requestKeys`).
    ///
    /// A profile that has the account's keys already keeps them.
    ///
    /// - Parameters:
    ///   - arrival: The person.
    ///   - words: The recovery words, for an account that has keys; nil: they are opened later, or never.
    ///   - deviceName: The name that the account's owner sees in the list of devices.
    ///   - container: The container that is opened.
    ///   - keepsAccount: Whether the person takes back the wish that the account is deleted.
    /// - Throws: `SignInError`, `RecoveryKeyError`, `DeviceProfileError`, `EncryptionError`.
    package func signIn(
        _ arrival: ProviderArrival, words: String? = nil, deviceName: String, container: String,
        keepsAccount: Bool = false
    ) async throws -> Outcome {
        // Before the ticket is used up.
        let recovery = try words.map { try RecoveryKey(words: $0) }
        let before = try? configuration.deviceProfile.credentials()
        let old = before?.endpoint == configuration.endpoint ? try? configuration.deviceProfile.keychain() : nil
        var body: DeviceCloud.Body = [
            "ticket": .text(arrival.ticket), "deviceName": .text(deviceName), "lifetime": "device",
        ]
        if keepsAccount { body["keepsAccount"] = .flag(true) }
        let session = try await openSession(body, in: container)
        do {
            guard let email = session.answer.email else { throw SignInError.answerMalformed }
            let address = try AccountAddress(email)
            let keys = try await keys(of: session, recovery: recovery, address: address, old: old, in: container)
            return try await keep(session, for: address, with: keys, in: container, replacing: before)
        } catch {
            try? await end(session.proof, container)
            throw error
        }
    }

    private func keys(
        of session: OpenedSession, recovery: RecoveryKey?, address: AccountAddress, old: DeviceKeychain?,
        in container: String
    ) async throws -> (outcome: Outcome.Keys, keychain: DeviceKeychain?) {
        guard let held = session.answer.keychain else {
            return try await makeKeys(of: session, root: nil, address: address, in: container)
        }
        if let recovery {
            var body = session.proof
            body["wordsProof"] = .bytes(recovery.proof)
            let opening: OpeningAnswer = try await cloud.post("keychain/open", in: container, body)
            let secret = try AccountSecret(
                sealed: Array(opening.wrap), under: recovery.wrappingKey, account: address.text)
            guard try Self.fits(secret, held.identity) else { throw SignInError.keychainForged }
            return (.opened, DeviceKeychain(account: address.text, generation: opening.generation, secret: secret))
        }
        guard let old, old.account == address.text, try Self.fits(old.secret, held.identity) else {
            return (.locked, nil)
        }
        return (.opened, DeviceKeychain(account: address.text, generation: held.generation, secret: old.secret))
    }

    private struct BeginAnswer: Decodable {
        var url: String
    }

    private struct OpeningAnswer: Decodable {
        var generation: Int
        var wrap: Data
    }
}
