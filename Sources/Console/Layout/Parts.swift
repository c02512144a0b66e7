/// The larger parts that pages are made of.
enum Part {
    /// Returns a table. The first cell of each row is the row's heading.
    ///
    /// - Parameters:
    ///   - caption: What the table shows.
    ///   - columns: The headings of the columns.
    ///   - rows: As many cells as columns in each.
    ///   - empty: The text instead of a table without rows.
    static func table(caption: String, columns: [String], rows: [[HTML]], empty: String = "None.") -> HTML {
        guard !rows.isEmpty else { return Tag.p(.class("quiet"), text: empty) }
        return Tag.div(.class("scroll"), .role("region"), .label(caption), .tabIndex(0)) {
            Tag.table {
                Tag.caption(caption)
                Tag.thead { Tag.tr { columns.map { Tag.th(.scope("col"), text: $0) } } }
                Tag.tbody {
                    rows.map { cells in
                        Tag.tr {
                            cells.prefix(1).map { cell in Tag.th(.scope("row")) { cell } }
                            cells.dropFirst().map { cell in Tag.td { cell } }
                        }
                    }
                }
            }
        }
    }

    /// Returns names with their values.
    static func facts(_ facts: [(name: String, value: HTML)]) -> HTML {
        Tag.dl(.class("facts")) {
            facts.map { fact in
                Tag.div {
                    Tag.dt(fact.name)
                    Tag.dd { fact.value }
                }
            }
        }
    }

    /// Returns a section with a heading.
    static func section(_ heading: String, id: String, @HTMLBuilder content: () -> HTML) -> HTML {
        Tag.section(.labelledBy(id)) {
            Tag.h2(.id(id), text: heading)
            content()
        }
    }

    /// Returns a message about what was done or found.
    static func status(_ text: String) -> HTML { Tag.p(.role("status"), .class("message good"), text: text) }

    /// Returns a message about what went wrong.
    static func alert(@HTMLBuilder content: () -> HTML) -> HTML {
        Tag.div(.role("alert"), .class("message bad")) { content() }
    }

    /// Returns a link.
    static func link(_ text: String, _ address: Address) -> HTML { Tag.a(.href(address)) { name(text) } }

    /// Returns a text from outside, whose direction of writing does not spread to what surrounds it.
    static func name(_ text: String) -> HTML { Tag.bdi(text.isEmpty ? "(empty)" : text) }

    /// Returns a text of a program, such as an identifier or a command.
    static func code(_ text: String) -> HTML { Tag.code { Tag.bdi(text) } }

    /// Returns a mark with a word.
    ///
    /// - Parameter kind: `good`, `warn`, `bad` or `quiet`.
    static func mark(_ text: String, _ kind: MarkKind = .quiet) -> HTML { Tag.span(.class("mark \(kind)"), text: text) }

    /// The importance of a mark; the word says it as well.
    enum MarkKind: String { case good, warn, bad, quiet }

    /// Returns a number of bytes, with the exact one as its title.
    static func bytes(_ count: some BinaryInteger) -> HTML {
        Tag.span(.title("\(count) bytes"), text: ByteCountText.text(Int64(clamping: count)))
    }

    /// Returns a number with spaces between thousands.
    static func number(_ number: some BinaryInteger) -> HTML { HTML(ByteCountText.grouped(String(number))) }

    /// Returns a moment, in UTC.
    ///
    /// - Parameter milliseconds: Since 1970.
    static func time(_ milliseconds: Int64) -> HTML {
        let text = TimeText.text(milliseconds)
        return Tag.time(.dateTime(text.replacing(" ", with: "T") + "Z"), text: text + " UTC")
    }
}

/// The written form of sizes and numbers.
enum ByteCountText {
    /// Returns a size with three digits and its unit.
    static func text(_ count: Int64) -> String {
        guard abs(count) >= 1000 else { return "\(count) bytes" }
        var value = Double(count)
        for unit in ["kB", "MB", "GB", "TB", "PB"] {
            value /= 1000
            // So that nothing is rounded to 1000 of a unit.
            if abs(value) < 999.5 || unit == "PB" {
                let digits = abs(value) < 9.95 ? 100.0 : abs(value) < 99.5 ? 10 : 1
                let rounded = (value * digits).rounded() / digits
                return "\(rounded == rounded.rounded() ? String(Int64(rounded)) : String(rounded)) \(unit)"
            }
        }
        return "\(count) bytes"
    }

    /// Returns digits with a narrow space between thousands.
    static func grouped(_ digits: String) -> String {
        let sign = digits.hasPrefix("-") ? "-" : ""
        var result = ""
        for (index, digit) in digits.dropFirst(sign.count).reversed().enumerated() {
            if index > 0, index.isMultiple(of: 3) { result.append("\u{202F}") }
            result.append(digit)
        }
        return sign + String(result.reversed())
    }
}

/// The written form of moments.
enum TimeText {
    /// Returns `2026-11-23 04:05:06`, in UTC.
    ///
    /// - Parameter milliseconds: Since 1970.
    static func text(_ milliseconds: Int64) -> String {
        let seconds = Int64((Double(milliseconds) / 1000).rounded(.down))
        let (days, second) = (Self.floored(seconds, 86_400), seconds - Self.floored(seconds, 86_400) * 86_400)
        let (year, month, day) = civil(days)
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2)) "
            + "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
    }

    /// Returns the date of the Gregorian calendar that is so many days after 1970-01-01.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // Counted in eras of 400 years from March of year 0, so that the day of a leap year is the last.
        let shifted = days + 719_468
        let era = floored(shifted, 146_097)
        let ofEra = shifted - era * 146_097
        let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * ofYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, ofYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    private static func floored(_ value: Int64, _ divisor: Int64) -> Int64 {
        value / divisor - (value % divisor < 0 ? 1 : 0)
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
