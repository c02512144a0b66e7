import CloudKitLogs
import Foundation
import HTTPTransfer
import Logging

/// Carries out the actions of alerts: lines of the log, web hooks, mail.
struct AlertSender: Sendable {
    var client: HTTPClient
    var mail: MailClient?
    /// Hosts, with or without ports, to which web hooks may be sent although they are not public or speak plain HTTP.
    var namedHosts: Set<String>
    var logger: Logger
    /// The pause before another attempt.
    var pause = Duration.seconds(5)

    private static let attemptsMax = 3
    private static let timeLimit = Duration.seconds(20)
    private static let answerBytesMax = 64 << 10

    /// Carries out every action of an event's rule; what fails is reported to the operator's log.
    func send(_ event: AlertEvent) async {
        for text in event.rule.actions {
            guard let action = AlertAction(text) else { continue }
            if let problem = await send(event, action) {
                logger.warning(
                    "an alert could not be delivered",
                    metadata: [
                        "alert": .string(event.rule.name), "action": .string(action.shown), "error": .string(problem),
                    ])
            }
        }
    }

    /// - Returns: The reason for which the action failed.
    private func send(_ event: AlertEvent, _ action: AlertAction) async -> String? {
        switch action {
        case .log:
            logger.log(
                level: event.isOver ? .notice : .error, "alert",
                metadata: [
                    "alert": .string(event.rule.name), "state": event.isOver ? "ended" : "began",
                    "text": .string(event.text),
                ])
            return nil
        case .webHook(let url):
            guard let request = request(event, url) else {
                return "the address is not https of a public host; allow it with --alert-allow-host"
            }
            return await repeating {
                let answer = try await client.send(request)
                return (200..<300).contains(answer.status) ? nil : "HTTP status \(answer.status)"
            }
        case .mail(let address):
            guard let mail else { return "no mail server is configured; see --smtp-url" }
            let message = MailClient.Message(
                receiver: address, subject: "Welkin: \(event.rule.name) \(event.isOver ? "has ended" : "has begun")",
                text: event.text + "\n", date: SMTPDelivery.date(event.time))
            return await repeating {
                try await mail.send(message)
                return nil
            }
        }
    }

    /// Returns the request of a web hook; nil for an address to which none may be sent.
    func request(_ event: AlertEvent, _ url: String) -> HTTPClient.Request? {
        let host = AlertAction.host(of: url)
        let isNamed = namedHosts.contains(host) || namedHosts.contains(String(host.prefix { $0 != ":" }))
        guard isNamed || url.hasPrefix("https://") else { return nil }
        guard let body = try? JSONEncoder().encode(AlertBody(event)) else { return nil }
        return HTTPClient.Request(
            method: "POST", url: url, headers: ["Content-Type": "application/json"], body: Array(body),
            timeLimit: Self.timeLimit, isRepeatable: true, answerBytesMax: Self.answerBytesMax,
            reach: isNamed ? .anywhere : .publicOnly)
    }

    /// Tries again what failed, since an alert is sent once alone.
    private func repeating(_ attempt: () async throws -> String?) async -> String? {
        var problem: String?
        for number in 1...Self.attemptsMax {
            do {
                problem = try await attempt()
            } catch {
                problem = String(describing: error)
            }
            if problem == nil { return nil }
            if number < Self.attemptsMax, (try? await Task.sleep(for: pause)) == nil { return problem }
        }
        return problem
    }
}

/// The body of a web hook; `text` is what chat services show.
struct AlertBody: Codable, Hashable {
    var alert: String
    var state: String
    var text: String
    var measure: String
    var value: Double
    var above: Double?
    var below: Double?
    var minutes: Int
    var container: String?
    var environment: String?
    /// Milliseconds since 1970.
    var time: Int64
    /// Milliseconds since 1970.
    var since: Int64

    init(_ event: AlertEvent) {
        alert = event.rule.name
        state = event.isOver ? "ended" : "began"
        text = event.text
        measure = event.rule.measure.rawValue
        value = event.value
        above = event.rule.above
        below = event.rule.below
        minutes = event.rule.minutes
        container = event.rule.container
        environment = event.rule.environment
        time = event.time
        since = event.since
    }
}
