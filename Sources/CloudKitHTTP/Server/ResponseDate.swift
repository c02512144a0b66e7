import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The present time as responses carry it (RFC 9110 §5.6.7), made once a second.
final class ResponseDate: Sendable {
    private struct Made {
        var second = 0
        var text = ""
    }

    private let made = Mutex(Made())

    /// The present time.
    var text: String {
        let second = time(nil)
        return made.withLock { made in
            if made.second != second { made = Made(second: second, text: Self.text(of: second)) }
            return made.text
        }
    }

    /// Returns a time as responses carry it: "Sun, 06 Nov 1994 08:49:37 GMT".
    ///
    /// - Parameter second: Seconds since 1970.
    static func text(of second: Int) -> String {
        var (second, parts) = (second, tm())
        gmtime_r(&second, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return
            "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(1900 + parts.tm_year) "
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
