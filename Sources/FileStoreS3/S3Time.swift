import Foundation

/// A moment in the forms in which the protocol writes it, in UTC.
struct S3Time: Hashable {
    /// Milliseconds since 1970.
    let milliseconds: Int64

    init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Reads `2026-11-23T18:35:00.000Z`, with or without a fraction; nil if it is another text.
    init?(_ text: String) {
        let style = Date.ISO8601FormatStyle()
        guard let date = (try? style.parse(text)) ?? (try? style.fractional.parse(text)) else { return nil }
        milliseconds = Int64((date.timeIntervalSince1970 * 1000).rounded())
    }

    /// `20130524`.
    var day: String { String(stamp.prefix(8)) }

    /// `20130524T000000Z`.
    var stamp: String {
        // Whole seconds: a fraction is cut off, also before 1970.
        let seconds = (Double(milliseconds) / 1000).rounded(.down)
        return Date(timeIntervalSince1970: seconds).formatted(
            Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted))
    }
}

extension Date.ISO8601FormatStyle {
    fileprivate var fractional: Self { Self(includingFractionalSeconds: true) }
}
