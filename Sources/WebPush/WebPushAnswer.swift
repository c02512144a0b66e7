import CloudKitServer
import Foundation
import HTTPTransfer

/// The interpretation of a push service's answers (RFC 8030 §5, §7; RFC 8292 §4).
enum WebPushAnswer {
    /// Returns the outcome of an answer.
    ///
    /// - Parameter now: Milliseconds since 1970, for a `Retry-After` with a date.
    static func outcome(_ answer: HTTPClient.Answer, now: Int64) -> PushOutcome {
        let reason = "status\(answer.status)"
        switch answer.status {
        case 200...299: return .delivered
        case 404, 410: return .gone(reason: reason)
        case 413: return .refused(reason: reason)
        case 400, 401, 403:
            // Usually a fault of this cloud, its key or its clock; the message can be sent when that is repaired.
            return .tryAgain(after: 3600, reason: reason)
        default: return .tryAgain(after: answer.headers["retry-after"].flatMap { seconds($0, now) }, reason: reason)
        }
    }

    /// Returns the outcome of a request without an answer.
    static func outcome(_ failure: HTTPClient.Failure) -> PushOutcome {
        switch failure.kind {
        case .requestUnusable: .refused(reason: "unusable")
        case .unreachable: .tryAgain(after: nil, reason: "unreachable")
        case .notTrusted: .tryAgain(after: nil, reason: "notTrusted")
        case .timedOut: .tryAgain(after: nil, reason: "timedOut")
        // The message may have arrived: delivery is at least once.
        case .connectionLost, .answerLost: .tryAgain(after: nil, reason: "connectionLost")
        case .answerTooLarge: .tryAgain(after: nil, reason: "answerTooLarge")
        }
    }

    /// Parses a number of seconds or a date (RFC 9110 §10.2.3).
    private static func seconds(_ text: String, _ now: Int64) -> Int64? {
        if let seconds = Int64(text), seconds >= 0 { return seconds }
        let form = DateFormatter()
        form.locale = Locale(identifier: "en_US_POSIX")
        form.timeZone = TimeZone(secondsFromGMT: 0)
        form.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return form.date(from: text).map { max(0, Int64($0.timeIntervalSince1970) - now / 1000) }
    }
}
