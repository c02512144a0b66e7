import Foundation

/// What a command prints: results to standard output, remarks to standard error.
enum Output {
    static func result(_ text: String) {
        write(text + "\n", to: 1)
    }

    static func remark(_ text: String) {
        write(text + "\n", to: 2)
    }

    /// For scripts.
    static func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        result(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Columns, each as wide as its widest cell.
    static func table(_ rows: [[String]]) {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
        for row in rows {
            let cells = zip(row, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }
            result(cells.joined(separator: "  ").trimmingCharacters(in: .whitespaces))
        }
    }

    /// `2026-11-21 03:40`, in UTC.
    static func time(_ milliseconds: Int64) -> String {
        let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
        return String(date.ISO8601Format().replacing("T", with: " ").prefix(16))
    }

    /// Printed at once: someone may be waiting for it at the other end of a pipe.
    static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return
            }
        }
    }
}
