import Foundation
import Synchronization

/// The timestamp of log lines: `2026-11-21T03:40:00.123Z`.
enum LogTime {
    /// The latest second and its text: formatting a date costs more than the rest of a line.
    private static let known = Mutex<(second: Int, text: String)>((0, ""))

    static var now: String {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return text(Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Returns the timestamp of a time in milliseconds since 1970.
    static func text(_ time: Int64) -> String {
        let second = Int(time / 1000)
        let text = known.withLock { known in
            if known.second != second {
                let date = Date(timeIntervalSince1970: Double(second))
                known = (second, String(date.ISO8601Format().dropLast()))
            }
            return known.text
        }
        let milliseconds = Int(time % 1000)
        let padding = milliseconds < 10 ? "00" : milliseconds < 100 ? "0" : ""
        return "\(text).\(padding)\(milliseconds)Z"
    }
}
