import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Crypto
import HTTPTransfer
import TextEncodings

/// Sends notifications to browsers by the push services that the browsers name (RFC 8030), sealed for the browser (RFC 8291) and
/// signed by this cloud (RFC 8292).
package struct WebPush: PushService {
    package typealias Sender = @Sendable (HTTPClient.Request) async throws -> HTTPClient.Answer

    private let key: ApplicationServerKey
    private let contact: String?
    private let rules: WebPushEndpointRules
    private let now: @Sendable () -> Int64
    private let random: @Sendable (Int) -> [UInt8]
    private let rest: @Sendable (Duration) async throws -> Void
    private let sender: Sender

    /// How long nothing may move while a message is sent.
    private static let patience = Duration.seconds(20)
    /// How long sending a message may take altogether.
    private static let sendingMax = Duration.seconds(45)
    /// Push services say little.
    private static let answerBytesMax = 64 << 10

    /// - Parameters:
    ///   - contact: `mailto:` or `https:`: how operators of push services reach this cloud's. Apple's demands one.
    ///   - rules: Whom messages are sent to.
    ///   - sender: Sends requests; follows no redirection.
    package init(
        key: ApplicationServerKey, contact: String?, rules: WebPushEndpointRules, serverEnvironment: ServerEnvironment,
        sender: @escaping Sender
    ) {
        self.key = key
        self.contact = contact
        self.rules = rules
        now = serverEnvironment.now
        random = serverEnvironment.random
        rest = serverEnvironment.sleep
        self.sender = sender
    }

    package let name = "webPush"

    package var announcement: [String: String] { ["applicationServerKey": key.publicText] }

    package func address(_ subscription: [UInt8]) throws(RequestFailure) -> PushAddress {
        try WebPushSubscription(subscription, rules: rules).address
    }

    package func send(_ message: PushMessage, to address: PushAddress) async -> PushOutcome {
        let request: HTTPClient.Request
        do {
            // The rules may have become stricter since.
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
            ], body: body, patience: Self.patience, isRepeatable: true, answerBytesMax: Self.answerBytesMax,
            reach: endpoint.isHostNamed ? .anywhere : .publicOnly)
    }

    /// 32 letters by which the push service knows messages that replace one another (RFC 8030 §5.4), and nothing else about them.
    static func topic(_ collapseKey: String, _ subscription: WebPushSubscription) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array(collapseKey.utf8), using: SymmetricKey(data: subscription.authentication))
        return Base64URL.encode(Array(code.prefix(24)))
    }

    /// The answer, unless it takes too long: a server may move a byte now and then for ever.
    private func answer(to request: HTTPClient.Request) async throws -> HTTPClient.Answer {
        try await withThrowingTaskGroup(of: HTTPClient.Answer?.self) { group in
            group.addTask { try await sender(request) }
            group.addTask {
                try await rest(Self.sendingMax)
                return nil
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() ?? nil else { throw CancellationError() }
            return answer
        }
    }
}
