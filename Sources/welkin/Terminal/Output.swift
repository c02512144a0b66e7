import Foundation

/// The output of a command: results on standard output, remarks on standard error.
enum Output {
    /// Prints a line to standard output.
    static func result(_ text: String) {
        write(text + "\n", to: 1)
    }

    /// Prints a line to standard error.
    static func remark(_ text: String) {
        write(text + "\n", to: 2)
    }

    /// Prints a value as JSON, for scripts.
    static func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        result(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Prints rows in columns, each as wide as its widest cell.
    static func table(_ rows: [[String]]) {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
        for row in rows {
            let cells = zip(row, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }
            result(cells.joined(separator: "  ").trimmingCharacters(in: .whitespaces))
        }
    }

    /// Returns a time as `2026-11-21 03:40`, in UTC.
    static func time(_ milliseconds: Int64) -> String {
        let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
        return String(date.ISO8601Format().replacing("T", with: " ").prefix(16))
    }

    /// Writes text unbuffered: a reader may be waiting at the other end of a pipe.
    static func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8), to: descriptor) }

    /// Writes bytes unbuffered.
    static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
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
