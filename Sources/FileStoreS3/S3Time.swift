/// A moment in the forms in which the protocol writes it, in UTC.
struct S3Time: Hashable {
    /// Milliseconds since 1970.
    let milliseconds: Int64

    init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Reads `2026-11-23T18:35:00.000Z`, with or without a fraction; nil if it is another text.
    init?(_ text: String) {
        let digits = Array(text.utf8)
        guard digits.count >= 20, digits.last == UInt8(ascii: "Z"), digits[4] == UInt8(ascii: "-"),
            digits[10] == UInt8(ascii: "T"), digits[13] == UInt8(ascii: ":")
        else { return nil }
        func number(_ range: Range<Int>) -> Int64? { Int64(String(decoding: digits[range], as: UTF8.self)) }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
            let minute = number(14..<16), let second = number(17..<19), (1...12).contains(month), (1...31).contains(day)
        else { return nil }
        var fraction: Int64 = 0
        if digits[19] == UInt8(ascii: "."), digits.count > 21 {
            let shown = digits[20..<digits.count - 1].prefix(3)
            guard var value = Int64(String(decoding: shown, as: UTF8.self)) else { return nil }
            for _ in shown.count..<3 { value *= 10 }
            fraction = value
        }
        let days = Self.days(year: year, month: month, day: day)
        milliseconds = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + fraction
    }

    /// `20130524`.
    var day: String {
        let (year, month, day) = civil
        return Self.padded(year, 4) + Self.padded(month, 2) + Self.padded(day, 2)
    }

    /// `20130524T000000Z`.
    var stamp: String {
        let seconds = Self.floored(milliseconds, 1000).quotient
        let rest = Self.floored(seconds, 86_400).remainder
        return day + "T" + Self.padded(rest / 3600, 2) + Self.padded(rest / 60 % 60, 2) + Self.padded(rest % 60, 2)
            + "Z"
    }

    private var civil: (year: Int64, month: Int64, day: Int64) {
        // Days since the first of March of the year 0: leap days are then at the ends of years.
        let days = Self.floored(milliseconds, 86_400_000).quotient + 719_468
        let (era, dayOfEra) = Self.floored(days, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let part = (5 * dayOfYear + 2) / 153
        let month = part < 10 ? part + 3 : part - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * part + 2) / 5 + 1)
    }

    /// Returns the days since 1970.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = floored(year, 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func floored(_ value: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func padded(_ number: Int64, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}
