import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Crypto
import HTTPTransfer
import TextEncodings

/// The push service for browsers: sends notifications through the services that the browsers name (RFC 8030), encrypted for the
/// browser (RFC 8291) and signed by this cloud (RFC 8292).
package struct WebPush: PushService {
    /// A function that sends a request; it follows no redirection.
    package typealias Sender = @Sendable (HTTPClient.Request) async throws -> HTTPClient.Answer

    private let key: ApplicationServerKey
    private let contact: String?
    private let rules: WebPushEndpointRules
    private let now: @Sendable () -> Int64
    private let random: @Sendable (Int) -> [UInt8]
    private let sleep: @Sendable (Duration) async throws -> Void
    private let sender: Sender

    /// The maximum time without progress while a message is sent.
    private static let timeLimit = Duration.seconds(20)
    /// The maximum total time of sending a message.
    private static let sendingMax = Duration.seconds(45)
    /// The maximum size of a push service's answer.
    private static let answerBytesMax = 64 << 10

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - key: The key that identifies this cloud.
    ///   - contact: The contact of this cloud's operator, `mailto:` or `https:`; Apple's service requires it.
    ///   - rules: The endpoints to which messages may be sent.
    ///   - serverEnvironment: The clock and the random numbers.
    ///   - sender: The function that sends requests.
    package init(
        key: ApplicationServerKey, contact: String?, rules: WebPushEndpointRules, serverEnvironment: ServerEnvironment,
        sender: @escaping Sender
    ) {
        self.key = key
        self.contact = contact
        self.rules = rules
        now = serverEnvironment.now
        random = serverEnvironment.random
        sleep = serverEnvironment.sleep
        self.sender = sender
    }

    /// The name of the service in requests and in the store.
    package let name = "webPush"

    /// The key that browsers bind their subscriptions to.
    package var announcement: [String: String] { ["applicationServerKey": key.publicText] }

    /// Checks a browser's subscription and returns its address in the stored form.
    package func address(_ subscription: [UInt8]) throws(RequestFailure) -> PushAddress {
        try WebPushSubscription(subscription, rules: rules).address
    }

    /// Encrypts a message, sends it to the browser's push service and returns the outcome.
    package func send(_ message: PushMessage, to address: PushAddress) async -> PushOutcome {
        let request: HTTPClient.Request
        do {
            // The rules may have become stricter since the subscription was stored.
            let subscription = try WebPushSubscription(address.bytes, rules: rules)
            request = try self.request(message, subscription)
        } catch is RequestFailure {
            return .gone(reason: "notAllowed")
        } catch {
            return .refused(reason: "tooLong")
        }
        do {
            return WebPushAnswer.outcome(try await answer(to: request), now: now())
        } catch let failure as HTTPClient.Failure {
            return WebPushAnswer.outcome(failure)
        } catch {
            return .tryAgain(after: nil, reason: Task.isCancelled ? "stopping" : "timedOut")
        }
    }

    private func request(_ message: PushMessage, _ subscription: WebPushSubscription) throws -> HTTPClient.Request {
        let endpoint = subscription.endpoint
        let body = try MessageEncryption(subscription: subscription).seal(
            message.payload, key: P256.KeyAgreement.PrivateKey(), salt: random(MessageEncryption.saltBytes))
        return HTTPClient.Request(
            method: "POST", url: endpoint.url,
            headers: [
                "Authorization": try key.authorization(for: endpoint.origin, contact: contact, now: now()),
                "Content-Encoding": "aes128gcm", "Content-Type": "application/octet-stream",
                "TTL": String(max(message.lifetime, 0)), "Urgency": message.isVisible ? "high" : "low",
                "Topic": Self.topic(message.collapseKey, subscription),
            ], body: body, timeLimit: Self.timeLimit, isRepeatable: true, answerBytesMax: Self.answerBytesMax,
            reach: endpoint.isHostNamed ? .anywhere : .publicOnly)
    }

    /// Returns the topic, 32 letters by which the push service replaces messages (RFC 8030 §5.4); it reveals nothing else.
    static func topic(_ collapseKey: String, _ subscription: WebPushSubscription) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array(collapseKey.utf8), using: SymmetricKey(data: subscription.authentication))
        return Base64URL.encode(Array(code.prefix(24)))
    }

    /// Returns the answer; fails after `sendingMax`, since a slow server could otherwise keep the request open permanently.
    private func answer(to request: HTTPClient.Request) async throws -> HTTPClient.Answer {
        try await withThrowingTaskGroup(of: HTTPClient.Answer?.self) { group in
            group.addTask { try await sender(request) }
            group.addTask {
                try await sleep(Self.sendingMax)
                return nil
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() ?? nil else { throw CancellationError() }
            return answer
        }
    }
}
