import CloudKitModel
import Foundation

/// Dates of encrypted fields with their full precision: the wire's timestamps are whole milliseconds, but sealed values
/// travel between devices, and apps compare the dates they sync.
///
/// A date that is not a whole number of milliseconds is sealed as milliseconds since 1970 with a fraction, exact to the
/// last bit.
enum ExactDate {
    /// nil: whole milliseconds say the same, or no field could hold the date.
    private static func text(_ date: Date) -> String? {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        guard let whole = Int64(exactly: milliseconds), FieldConverter.date(whole) != date,
            // The shortest text that gives the same number again; Decimal then calculates without rounding.
            let seconds = Decimal(string: "\(date.timeIntervalSinceReferenceDate)", locale: posix)
        else { return nil }
        let text = "\((seconds + referenceSeconds) * 1000)"
        return text.contains(".") ? text : text + ".0"
    }

    /// nil: not of that kind, or beyond what any field could hold.
    private static func date(_ text: Substring) -> Date? {
        // Decimal reads the longest valid prefix; Double accepts numbers only.
        guard text.contains("."), !text.contains(where: \.isLetter), Double(text) != nil,
            let milliseconds = Decimal(string: String(text), locale: posix),
            let seconds = Double("\(milliseconds / 1000 - referenceSeconds)")
        else { return nil }
        let date = Date(timeIntervalSinceReferenceDate: seconds)
        return Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()).map { _ in date }
    }

    private static let referenceSeconds = Decimal(Int(Date.timeIntervalBetween1970AndReferenceDate))
    private static let posix = Locale(identifier: "en_US_POSIX")

    /// The field with its dates to the last bit; nil: the field as it is says it all.
    static func field(_ plain: Field, of stored: Any) -> Field? {
        guard plain.type.base == .timestamp else { return nil }
        if let date = stored as? Date {
            return text(date).map { Field(name: plain.name, type: plain.type, json: Array($0.utf8)) }
        }
        guard let dates = stored as? [Date], dates.contains(where: { text($0) != nil }) else { return nil }
        let elements = dates.map { text($0) ?? "\(Int64(($0.timeIntervalSince1970 * 1000).rounded()))" }
        return Field(name: plain.name, type: plain.type, json: Array("[\(elements.joined(separator: ","))]".utf8))
    }

    /// Returns the value of such a field; nil: the field has another type.
    static func object(of field: Field) -> (any StoredValue)? {
        guard field.type.base == .timestamp, field.json.contains(UInt8(ascii: ".")) else { return nil }
        let text = String(decoding: field.json, as: UTF8.self)
        guard field.type.isList else { return date(text[...]).map { $0 as NSDate } }
        let elements = text.dropFirst().dropLast().split(separator: ",", omittingEmptySubsequences: false)
        let dates = elements.compactMap { date($0) ?? Int64($0).map(FieldConverter.date) }
        return dates.count == elements.count ? dates as NSArray : nil
    }
}
