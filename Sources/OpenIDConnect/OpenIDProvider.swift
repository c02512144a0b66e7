import AsyncLocks
import CloudKitAccounts
import Crypto
import Foundation
import HTTPTransfer
import Synchronization
import TextEncodings
import WebCredentials

/// A provider of OpenID Connect: its description and its keys are fetched when they are needed, and kept for an hour.
package final class OpenIDProvider: SignInProvider {
    private let settings: ProviderSettings
    private let client: HTTPClient
    private let now: @Sendable () -> Int64
    private let state = Mutex(Kept())
    private let fetching = AsyncMutex()

    /// Milliseconds for which description and keys are kept.
    private static let lifetime: Int64 = 3_600_000
    /// Milliseconds between two fetches of keys because a token names another.
    private static let refetchPause: Int64 = 30_000
    /// Milliseconds for which a provider that failed is not asked for its description again.
    private static let failurePause: Int64 = 5_000
    private static let timeLimit = Duration.seconds(10)
    private static let descriptionBytesMax = 256 * 1024
    private static let answerBytesMax = 128 * 1024

    private struct Kept {
        var description: (value: Description, until: Int64)?
        var keys: (value: JSONWebKeySet, fetched: Int64)?
        /// The reason why the description could not be fetched: people who come within the pause do not wait for it one after the other.
        var failure: (error: any Error, until: Int64)?
    }

    /// Creates the client of a provider; nothing is fetched yet.
    ///
    /// - Parameters:
    ///   - settings: The provider.
    ///   - client: Sends the requests.
    ///   - now: Milliseconds since 1970.
    package init(_ settings: ProviderSettings, client: HTTPClient = .shared, now: @escaping @Sendable () -> Int64) {
        self.settings = settings
        self.client = client
        self.now = now
    }

    /// The name of the provider, as people know it.
    package var label: String { settings.label }

    /// Returns the address at the provider to which a browser goes.
    package func authorizationURL(_ request: ProviderRequest) async throws -> String {
        let endpoint = try await description().authorizationEndpoint
        let challenge = Base64URL.encode(Array(SHA256.hash(data: Array(request.verifier.utf8))))
        let parameters = [
            ("response_type", "code"), ("client_id", settings.clientID), ("redirect_uri", request.redirect),
            ("scope", settings.scopes), ("state", request.state), ("nonce", request.nonce),
            ("code_challenge", challenge), ("code_challenge_method", "S256"),
        ]
        return endpoint + (endpoint.contains("?") ? "&" : "?") + Self.form(parameters)
    }

    /// Returns the provider's verified word about the person who came back with a code.
    package func identity(code: String, _ request: ProviderRequest, now: Int64) async throws -> IDToken {
        let description = try await description()
        let text = try await token(code, request, description)
        let expected = IDToken.Expectation(
            issuer: settings.issuer, clientID: settings.clientID, nonce: request.nonce, now: now)
        let held = try await keys(description, isAnother: false)
        do {
            return try IDToken(text, keys: held, expected: expected)
        } catch CredentialError.unknownKey {
            // The provider may have made a new key.
            return try IDToken(text, keys: try await keys(description, isAnother: true), expected: expected)
        }
    }

    // MARK: What the provider says of itself

    private struct Description: Decodable {
        var issuer: String
        var authorizationEndpoint: String
        var tokenEndpoint: String
        var keys: String
        var tokenAuthentication: [String]?

        private enum CodingKeys: String, CodingKey {
            case issuer
            case authorizationEndpoint = "authorization_endpoint"
            case tokenEndpoint = "token_endpoint"
            case keys = "jwks_uri"
            case tokenAuthentication = "token_endpoint_auth_methods_supported"
        }
    }

    private func description() async throws -> Description {
        if let kept = state.withLock(\.description), now() < kept.until { return kept.value }
        return try await fetching.withLock {
            if let kept = state.withLock(\.description), now() < kept.until { return kept.value }
            if let failure = state.withLock(\.failure), now() < failure.until { throw failure.error }
            do {
                let read = try await fetchedDescription()
                state.withLock { $0.description = (read, now() + Self.lifetime) }
                return read
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                state.withLock { $0.failure = (error, now() + Self.failurePause) }
                throw error
            }
        }
    }

    private func fetchedDescription() async throws -> Description {
        let base = settings.issuer.hasSuffix("/") ? String(settings.issuer.dropLast()) : settings.issuer
        let bytes = try await get(base + "/.well-known/openid-configuration", bytesMax: Self.descriptionBytesMax)
        guard let read = try? JSONDecoder().decode(Description.self, from: Data(bytes)) else {
            throw ProviderFailure.malformed("description")
        }
        guard read.issuer == settings.issuer else { throw ProviderFailure.otherIssuer }
        for url in [read.authorizationEndpoint, read.tokenEndpoint, read.keys]
        where !ProviderSettings.isUsable(url) {
            throw ProviderFailure.insecure
        }
        return read
    }

    /// Returns the provider's keys.
    ///
    /// - Parameter isAnother: Whether a token names a key that is not among those that are kept.
    private func keys(_ description: Description, isAnother: Bool) async throws -> JSONWebKeySet {
        func isFresh(_ kept: (value: JSONWebKeySet, fetched: Int64)) -> Bool {
            now() < kept.fetched + (isAnother ? Self.refetchPause : Self.lifetime)
        }
        if let kept = state.withLock(\.keys), isFresh(kept) { return kept.value }
        return try await fetching.withLock {
            if let kept = state.withLock(\.keys), isFresh(kept) { return kept.value }
            let keys = try JSONWebKeySet(try await get(description.keys, bytesMax: JSONWebKeySet.bytesMax))
            state.withLock { $0.keys = (keys, now()) }
            return keys
        }
    }

    // MARK: Requests

    private func token(
        _ code: String, _ request: ProviderRequest, _ description: Description
    ) async throws -> String {
        struct Answer: Decodable {
            var idToken: String

            private enum CodingKeys: String, CodingKey {
                case idToken = "id_token"
            }
        }
        var parameters = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", request.redirect),
            ("code_verifier", request.verifier),
        ]
        var headers = ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"]
        // Without a word of the provider it is HTTP's own way (OpenID Connect Discovery 1.0, §3).
        let methods = description.tokenAuthentication ?? ["client_secret_basic"]
        if let secret = settings.clientSecret, methods.contains("client_secret_basic") {
            let pair = "\(settings.clientID.percentEncoded):\(secret.percentEncoded)"
            headers["Authorization"] = "Basic " + Base64.encode(Array(pair.utf8))
        } else {
            parameters.append(("client_id", settings.clientID))
            if let secret = settings.clientSecret { parameters.append(("client_secret", secret)) }
        }
        let answer = try await send(
            HTTPClient.Request(
                method: "POST", url: description.tokenEndpoint, headers: headers,
                body: Array(Self.form(parameters).utf8), timeLimit: Self.timeLimit, isRepeatable: false,
                answerBytesMax: Self.answerBytesMax))
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(answer)) else {
            throw ProviderFailure.malformed("answer with the token")
        }
        return answer.idToken
    }

    private func get(_ url: String, bytesMax: Int) async throws -> [UInt8] {
        try await send(
            HTTPClient.Request(
                method: "GET", url: url, headers: ["Accept": "application/json"], timeLimit: Self.timeLimit,
                answerBytesMax: bytesMax))
    }

    /// Sends a request; the whole of it may take no longer than one without any byte.
    private func send(_ request: HTTPClient.Request) async throws -> [UInt8] {
        let answer = try await withThrowingTaskGroup(of: HTTPClient.Answer?.self) { group in
            group.addTask { [client] in try await client.send(request) }
            group.addTask {
                try await Task.sleep(for: Self.timeLimit)
                return nil
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() ?? nil else { throw ProviderFailure.tooSlow }
            return answer
        }
        // A redirect is no answer: it would go to an address that the description does not name.
        guard answer.status == 200 else { throw ProviderFailure.status(answer.status) }
        return answer.body
    }

    private static func form(_ parameters: [(String, String)]) -> String {
        parameters.map { "\($0.0)=\($0.1.percentEncoded)" }.joined(separator: "&")
    }
}

/// The reason why a provider's answer is of no use; without any secret.
package enum ProviderFailure: Error, Hashable, Sendable, CustomStringConvertible {
    case malformed(String)
    case otherIssuer
    case insecure
    case status(Int)
    case tooSlow

    /// The reason, in a few words.
    package var description: String {
        switch self {
        case .malformed(let what): "the provider's \(what) cannot be read"
        case .otherIssuer: "the provider's description names another issuer than oidc-issuer"
        case .insecure: "the provider's description names an address that is neither https nor of this machine"
        case .status(let status): "the provider answered with status \(status)"
        case .tooSlow: "the provider took too long"
        }
    }
}
