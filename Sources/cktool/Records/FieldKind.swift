import Foundation

/// The type of a field in the JSON of Apple's tool, and on the wire of the web services.
struct FieldKind: Hashable {
    /// The type of one value.
    enum Scalar: String, CaseIterable {
        case string, int64, double, timestamp, bytes, location, reference, asset

        /// The name on the wire.
        var wireName: String { self == .asset ? "ASSETID" : rawValue.uppercased() }
    }

    var scalar: Scalar
    var isList = false

    /// `stringType`, `stringListType`, …
    var name: String { scalar.rawValue + (isList ? "ListType" : "Type") }

    /// `STRING`, `STRING_LIST`, …
    var wireName: String { scalar.wireName + (isList ? "_LIST" : "") }

    /// The name for values that only devices can read.
    static let encryptedWireName = "ENCRYPTED_BYTES"

    private static let known: [String: FieldKind] = {
        var known: [String: FieldKind] = [:]
        for scalar in Scalar.allCases {
            for isList in [false, true] {
                let type = FieldKind(scalar: scalar, isList: isList)
                known[type.name] = type
                known[type.wireName] = type
            }
        }
        known["ASSET"] = FieldKind(scalar: .asset)
        known["ASSET_LIST"] = FieldKind(scalar: .asset, isList: true)
        known[encryptedWireName] = FieldKind(scalar: .bytes)
        return known
    }()

    init(scalar: Scalar, isList: Bool = false) {
        self.scalar = scalar
        self.isList = isList
    }

    /// Reads either name.
    init?(_ name: String) {
        guard let type = Self.known[name] else { return nil }
        self = type
    }
}

/// Points in time as text.
enum TimestampText {
    /// Returns milliseconds since 1970 as `2026-11-23T04:00:00Z`, with a fraction where there is one.
    static func text(_ milliseconds: Int64) -> String {
        let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
        return date.formatted(
            Date.ISO8601FormatStyle(includingFractionalSeconds: milliseconds % 1000 != 0))
    }

    /// Reads ISO 8601, `2026-11-23` or `2026-11-23 04:00`, the latter two in a time zone.
    ///
    /// - Returns: Milliseconds since 1970; nil for another text.
    static func milliseconds(_ text: String, in zone: TimeZone = .current) -> Int64? {
        let date =
            (try? Date.ISO8601FormatStyle().parse(text))
            ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
            ?? local(text, in: zone)
        guard let date else { return nil }
        return Int64((date.timeIntervalSince1970 * 1000).rounded())
    }

    private static func local(_ text: String, in zone: TimeZone) -> Date? {
        let pattern = /(\d{4})-(\d{2})-(\d{2})(?:[ T](\d{2}):(\d{2}))?/
        guard let match = text.wholeMatch(of: pattern) else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let parts = DateComponents(
            year: Int(match.1), month: Int(match.2), day: Int(match.3), hour: match.4.flatMap { Int($0) } ?? 0,
            minute: match.5.flatMap { Int($0) } ?? 0)
        guard let date = calendar.date(from: parts),
            calendar.dateComponents([.year, .month, .day], from: date)
                == DateComponents(year: parts.year, month: parts.month, day: parts.day)
        else { return nil }
        return date
    }
}
