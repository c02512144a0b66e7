import CloudKit

extension Contact {
    /// Reads a contact from a card.
    init(_ card: VCard) {
        self.init(recordName: Self.recordName(uid: card.first("UID")?.text), values: [:])
        set(.fullName, card.first("FN")?.text)
        readName(card.first("N")?.components ?? [])
        set(.emails, card.all("EMAIL").map(\.text))
        set(.phones, card.all("TEL").map { Self.withoutScheme("tel:", $0.text) })
        readAddress(card.first("ADR")?.components ?? [])
        set(.birthday, card.first("BDAY").flatMap { Self.day($0.text) })
        set(.organization, card.first("ORG")?.components.filter { !$0.isEmpty }.joined(separator: " – "))
        set(.note, card.all("NOTE").map(\.text).joined(separator: "\n"))
        set(.categories, card.all("CATEGORIES").flatMap(\.list))
        values[.revised] = card.first("REV").flatMap { Self.moment($0.text) }.map(ContactValue.date)
    }

    /// Reads `N`: family, given and additional names; the full name replaces a missing family name.
    private mutating func readName(_ components: [String]) {
        func component(_ index: Int) -> String? { index < components.count ? components[index] : nil }
        set(.familyName, component(0))
        set(.givenName, component(1))
        set(.additionalNames, component(2))
        if familyName.isEmpty && givenName.isEmpty { set(.familyName, fullName) }
    }

    /// Reads `ADR`: box, extension, street, city, region, code, country.
    private mutating func readAddress(_ components: [String]) {
        for (index, key) in [ContactKey.street, .city, .region, .postalCode, .country].enumerated() {
            set(key, index + 2 < components.count ? components[index + 2] : nil)
        }
    }

    /// Returns the name of the record: the card's UID if it is a valid record name (ASCII, at most 255 bytes, B-LIM-11).
    private static func recordName(uid: String?) -> String {
        guard let uid else { return UUID().uuidString }
        let name = withoutScheme("urn:uuid:", uid)
        let isFit =
            !name.isEmpty && name.utf8.count <= 255 && !name.hasPrefix("_")
            && name.utf8.allSatisfy { 0x21 <= $0 && $0 < 0x7F }
        return isFit ? name : UUID().uuidString
    }

    private static func withoutScheme(_ scheme: String, _ uri: String) -> String {
        uri.lowercased().hasPrefix(scheme) ? String(uri.dropFirst(scheme.count)) : uri
    }

    /// Returns a day as `1985-04-12`, or `--04-12` without a year; other forms unchanged.
    static func day(_ text: String) -> String {
        let digits = text.prefix { $0 != "T" }.filter(\.isNumber)
        let isYearless = text.hasPrefix("--")
        guard digits.count == (isYearless ? 4 : 8), digits.allSatisfy(\.isASCII) else { return text }
        let day = digits.suffix(2)
        let month = digits.dropLast(2).suffix(2)
        return isYearless ? "--\(month)-\(day)" : "\(digits.prefix(4))-\(month)-\(day)"
    }

    /// Parses a time in the ISO 8601 forms of cards; nil for other forms.
    static func moment(_ text: String) -> Date? {
        let digits = text.filter { $0.isASCII && $0.isNumber }
        guard digits.count >= 14, text.hasSuffix("Z"), let number = Int(digits.prefix(14)) else { return nil }
        var components = DateComponents()
        components.year = number / 10_000_000_000
        components.month = number / 100_000_000 % 100
        components.day = number / 1_000_000 % 100
        components.hour = number / 10_000 % 100
        components.minute = number / 100 % 100
        components.second = number % 100
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar.date(from: components)
    }
}
