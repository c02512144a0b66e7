import Foundation

/// How long the other side asks to be left alone, in seconds, within reason (B-THR-02).
///
/// What stands in an answer may come from anybody on the way: no number there may stop the process or close the gate for
/// good.
enum RetryAfter {
    /// A day.
    static let secondsMax = 86_400.0

    /// - Parameters:
    ///   - body: What the error object says; it comes first.
    ///   - headers: With `Retry-After`, in seconds or as a date; a date is measured against the answer's own `Date`, so that
    ///     this device's clock does not matter.
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
