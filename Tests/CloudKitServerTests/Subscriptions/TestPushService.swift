import CloudKitModel
import CloudKitServer
import Foundation
import Synchronization

/// A push service that accepts everything by default, and remembers it.
final class TestPushService: PushService {
    struct Sent: Hashable, Sendable {
        var address: String
        var mark: String
        var message: PushMessage
    }

    private struct State {
        var sent: [Sent] = []
        var outcomes: [PushOutcome] = []
        var decision: (@Sendable (Sent) async -> PushOutcome)?
    }

    private let state = Mutex(State())

    let name = "test"
    let announcement = ["key": "public"]

    func address(_ subscription: [UInt8]) throws(RequestFailure) -> PushAddress {
        PushAddress(bytes: subscription, identity: String(decoding: subscription, as: UTF8.self))
    }

    func send(_ message: PushMessage, to address: PushAddress) async -> PushOutcome {
        let sent = Sent(
            address: String(decoding: address.bytes, as: UTF8.self), mark: TestDevice.mark(message.payload),
            message: message)
        let (outcome, decision) = state.withLock { state in
            state.sent.append(sent)
            return (state.outcomes.isEmpty ? nil : state.outcomes.removeFirst(), state.decision)
        }
        if let outcome { return outcome }
        return await decision?(sent) ?? .delivered
    }

    /// Sets the outcomes of the next messages.
    func answer(_ outcomes: PushOutcome...) { state.withLock { $0.outcomes = outcomes } }

    /// Sets the outcome of all others.
    func decide(_ decision: @escaping @Sendable (Sent) async -> PushOutcome) {
        state.withLock { $0.decision = decision }
    }

    /// Returns the messages since the last call, as `address mark`.
    func taken() -> [String] { takenMessages().map { "\($0.address) \($0.mark)" } }

    func takenMessages() -> [Sent] {
        state.withLock { state in
            defer { state.sent = [] }
            return state.sent
        }
    }
}

extension TestCloud {
    /// Registers an address of Ada's.
    @discardableResult
    func pushTo(
        _ address: String, client: String? = nil, device: String = "phone", session: String? = nil,
        silent: Bool = false, cloud other: Cloud? = nil, of user: UserID = ada
    ) async throws -> PushRegistration {
        try await PushTokens(other ?? cloud).create(
            clientID: client ?? address, service: "development", in: Self.container, .development,
            by: Caller(user: user, deviceID: device), sessionID: session,
            push: PushOrder(
                service: "test", address: PushAddress(bytes: Array(address.utf8), identity: address),
                takesSilent: silent))
    }

    /// A subscription to records that has something to show.
    static func shown(_ id: String, collapse: String? = nil) -> Subscription {
        var info = NotificationInfo()
        info.alertBody = "Something happened"
        info.collapseIDKey = collapse
        return query(id, info: info)
    }

}
