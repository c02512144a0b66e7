import CloudKitDevice
import CloudKitModel
import CloudKitWire
import Foundation
import TextEncodings

/// Keeps asking the courier for notifications, until its task is cancelled.
struct NotificationReceiver: Sendable {
    let cloud: CloudAccess
    let hub: NotificationHub

    /// Seconds without a byte after which a question is given up; longer than any server holds it.
    private static let timeLimit = 90.0
    private static let pauseMax = Duration.seconds(60)
    /// An empty answer that came faster than this was not held: the next question waits.
    private static let heldAtLeast = Duration.seconds(1)

    func run() async {
        var failures = 0
        var received: CourierRegistration?
        while !Task.isCancelled {
            do {
                let registration = try await registration(received)
                let began = cloud.clientEnvironment.now()
                let answer = try await ask(registration)
                guard !Task.isCancelled, account == registration.account else { continue }
                var next = registration
                next.position = answer.position
                received = next
                let notifications = answer.payloads.compactMap { payload in
                    try? PayloadValue(payload: payload)
                }
                if next.position != registration.position {
                    hub.receive(notifications, position: next.position)
                }
                // Nothing to do now: a good time to write.
                if notifications.isEmpty { hub.registrations.flush() }
                let wasHeld = cloud.clientEnvironment.now() - began >= Self.heldAtLeast
                failures = notifications.isEmpty && !wasHeld ? failures + 1 : 0
            } catch CourierFailure.registrationGone {
                hub.registrations.store(nil)
                hub.forgetPositions()
                received = nil
                failures += 1
            } catch {
                failures += 1
            }
            if failures > 0 { await pause(after: failures) }
        }
    }

    /// Grows from half a second to a minute, with chance in it, so that devices do not come back all at once.
    private func pause(after failures: Int) async {
        let growth = Duration.milliseconds(500) * (1 << min(failures - 1, 7))
        let pause = min(growth, Self.pauseMax) * (0.5 + cloud.clientEnvironment.random() / 2)
        // Cancelled: the loop ends.
        try? await cloud.clientEnvironment.sleep(pause)
    }

    // MARK: Registration

    private enum CourierFailure: Error {
        case registrationGone
        case refused(Int)
    }

    /// The signed-in account; nil: none.
    private var account: String? {
        if case .available(let device, _) = cloud.account.state { device.id } else { nil }
    }

    /// Returns the registration of the signed-in account: the current one, the stored one, or a new one.
    private func registration(_ received: CourierRegistration?) async throws -> CourierRegistration {
        guard let account else { throw CallFailure.notSignedIn }
        if let received, received.account == account { return received }
        if let kept = hub.registrations.load(), kept.account == account { return kept }
        let place = try cloud.place.get()
        let call = CloudCall(
            cloud: cloud, scope: .private, endpoint: .createPushToken,
            body: PushTokenAnswer.request(
                clientID: hub.registrations.clientID, service: place.environment.rawValue),
            settings: .userInitiated(), deadline: nil)
        let answer = try PushTokenAnswer(wireAnswer: try await call.answer(needsUser: true))
        let made = CourierRegistration(
            account: account, courierURL: answer.courierURL, position: answer.position ?? "")
        hub.forgetPositions()
        hub.registrations.store(made)
        return made
    }

    private func ask(_ registration: CourierRegistration) async throws -> LongPollAnswer {
        guard let url = URL(string: registration.courierURL + "?confirmed=" + registration.position.percentEncoded)
        else { throw CourierFailure.registrationGone }
        let response = try await cloud.transport.send(
            TransportRequest(
                method: .get, url: url, headers: ["X-Welkin-Client": "sdk/1"], timeout: Self.timeLimit,
                isLongPoll: true))
        switch response.status {
        case 200: return try LongPollAnswer(wireAnswer: response.body)
        case 401, 403, 404, 410: throw CourierFailure.registrationGone
        default: throw CourierFailure.refused(response.status)
        }
    }
}
