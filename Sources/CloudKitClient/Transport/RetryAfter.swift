import Foundation

/// The pause that a response asks for, in seconds, within bounds (B-THR-02).
///
/// A response may come from any server on the way: no number in it may stop the process or close the gate permanently.
enum RetryAfter {
    /// A day.
    static let secondsMax = 86_400.0

    /// - Parameters:
    ///   - body: The value in the error object; it takes precedence.
    ///   - headers: With `Retry-After`, in seconds or as a date; a date is compared with the response's own `Date`, so
    ///     that this device's clock does not matter.
    static func seconds(body: Double?, headers: [String: String]) -> Double? {
        bounded(body)
            ?? headers["retry-after"].flatMap { header in
                bounded(Double(header)) ?? wait(until: header, from: headers["date"])
            }
    }

    private static func bounded(_ seconds: Double?) -> Double? {
        guard let seconds, !seconds.isNaN else { return nil }
        return min(max(seconds, 0), secondsMax)
    }

    private static func wait(until text: String, from now: String?) -> Double? {
        guard let now, let start = date(now), let end = date(text) else { return nil }
        return bounded(end.timeIntervalSince(start))
    }

    private static func date(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.date(from: text)
    }
}
