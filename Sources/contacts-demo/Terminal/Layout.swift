import CloudKit

/// The lines of rows and tables, none of which is wider than the terminal.
struct Layout {
    let columns: Int

    /// The narrowest column of a table that is cut to fit; tables that need narrower ones are printed as lists.
    private static let columnMin = 16

    // MARK: Rows

    /// Returns the lines of `label  value  detail`: on one line if it fits, else the value wrapped and the detail below it.
    func row(_ label: String, value: String, detail: String) -> [(text: String, detail: String)] {
        let indent = 3 + Terminal.labelWidth
        let start = "   " + label.padded(to: Terminal.labelWidth)
        let tail = detail.isEmpty ? "" : "  " + detail
        if (start + value + tail).displayWidth <= columns { return [(start + value, tail)] }
        var lines = wrapped(value, indent: indent).map { (text: $0, detail: "") }
        if lines.isEmpty { lines = [("", "")] }
        lines[0].text = start + lines[0].text.dropFirst(indent)
        let details = detail.isEmpty ? [] : wrapped(detail, indent: indent)
        return lines + details.map { ("", $0) }
    }

    /// Returns a text in lines with an indent, broken between words where possible.
    func wrapped(_ text: String, indent: Int) -> [String] {
        let space = String(repeating: " ", count: indent)
        let width = max(10, columns - indent)
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, (last + " " + word).displayWidth <= width {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(word).clipped(to: width))
            }
        }
        return lines.map { space + $0 }
    }

    // MARK: Progress

    /// Returns the line of a bar of progress.
    func progress(_ label: String, done: Int, total: Int, rate: String) -> String {
        let start = "   " + label.padded(to: Terminal.labelWidth)
        let percent = "\(done * 100 / total) %".leftPadded(to: 5)
        let figures = " \(percent)  \(done.grouped)/\(total.grouped)  \(rate)"
        // As wide as the figures will get, so that the bar keeps its width.
        let reserved = 8 + 2 * total.grouped.count + 1 + 2 + 9
        // The last column stays empty: some terminals begin a new line when it is filled.
        let width = min(30, max(0, columns - start.displayWidth - reserved - 1))
        let filled = done * width / total
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        return (start + bar + figures).clipped(to: columns - 1)
    }

    // MARK: Tables

    /// Returns the lines of a table: in columns, cut where needed, or as a list of its rows where they would be too narrow.
    func table(_ titles: [String], _ rows: [[String]]) -> [(text: String, isTitle: Bool)] {
        guard let widths = widths(titles, rows) else { return list(titles, rows) }
        func aligned(_ cells: [String]) -> String {
            let cells = cells.enumerated().map { $1.clipped(to: widths[$0]).padded(to: widths[$0]) }
            return "   " + cells.joined(separator: "  ").trimmingTrailingSpaces
        }
        return [(aligned(titles), true)] + rows.map { (aligned($0), false) }
    }

    /// The widths of a table's columns; nil if it does not fit.
    private func widths(_ titles: [String], _ rows: [[String]]) -> [Int]? {
        var widths = titles.map(\.displayWidth)
        for row in rows {
            for (column, cell) in row.enumerated() { widths[column] = max(widths[column], cell.displayWidth) }
        }
        guard columns < .max else { return widths }
        var excess = 3 + widths.reduce(0, +) + 2 * (widths.count - 1) - columns
        while excess > 0 {
            guard let widest = widths.indices.max(by: { widths[$0] < widths[$1] }), widths[widest] > Self.columnMin
            else {
                return nil
            }
            widths[widest] -= 1
            excess -= 1
        }
        return widths
    }

    private func list(_ titles: [String], _ rows: [[String]]) -> [(text: String, isTitle: Bool)] {
        let width = (titles.dropFirst().map(\.displayWidth).max() ?? 0) + 2
        return rows.flatMap { row -> [(text: String, isTitle: Bool)] in
            let parts = zip(titles, row).dropFirst().map { title, cell in
                (text: ("     " + title.padded(to: width) + cell).clipped(to: columns), isTitle: false)
            }
            return [("   " + "\(titles[0]): \(row[0])".clipped(to: columns - 3), true)] + parts
        }
    }
}
