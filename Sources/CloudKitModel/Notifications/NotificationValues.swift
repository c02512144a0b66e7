extension Field {
    /// Characters of a text that travels with a notification (B-PSH-06).
    package static let notificationTextMax = 100

    /// The field as a notification may carry it: a text, number, date, location or reference that is not encrypted, texts
    /// cut (B-PSH-06); nil for others.
    package var notificationValue: Field? {
        guard !type.isList, !type.isEncrypted else { return nil }
        switch type.base {
        case .int64, .double, .timestamp, .location, .reference: return self
        case .string:
            guard json.count > Self.notificationTextMax + 2 else { return self }
            guard case .string(let text)? = try? value() else { return nil }
            return try? Field(name: name, value: .string(String(text.prefix(Self.notificationTextMax))))
        case .bytes, .asset, .unknown: return nil
        }
    }

    /// The field's value inside a localised text: texts, numbers and dates are substituted, nothing else (B-PSH-05).
    package var localizedArgument: String? {
        guard !type.isList, !type.isEncrypted, let value = try? notificationValue?.value() else { return nil }
        switch value {
        case .string(let text): return text
        case .int64(let number): return String(number)
        case .double(let number): return String(number)
        case .timestamp(let milliseconds): return DateText.utc(milliseconds: milliseconds)
        default: return nil
        }
    }
}

/// Dates in a form that users on either side read alike: ISO 8601 in UTC, to the second.
enum DateText {
    static func utc(milliseconds: Int64) -> String {
        let seconds = milliseconds.floorQuotient(1000)
        let days = seconds.floorQuotient(86_400)
        let clock = seconds - days * 86_400
        let (year, month, day) = civil(daysSince1970: days)
        return
            "\(year)-\(padded(month))-\(padded(day))T\(padded(clock / 3600)):\(padded(clock / 60 % 60)):\(padded(clock % 60))Z"
    }

    private static func padded(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// The proleptic Gregorian calendar, counted in eras of 400 years that begin on 1 March.
    private static func civil(daysSince1970 days: Int64) -> (Int64, Int64, Int64) {
        let shifted = days + 719_468
        let era = shifted.floorQuotient(146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}

extension Int64 {
    fileprivate func floorQuotient(_ divisor: Int64) -> Int64 {
        self >= 0 ? self / divisor : (self + 1) / divisor - 1
    }
}
