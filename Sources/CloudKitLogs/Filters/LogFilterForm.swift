import Foundation

/// A filter as texts, from options of a command or the fields of a form.
package struct LogFilterForm: Hashable, Sendable {
    /// The name of a condition in forms and URLs.
    package enum Field: String, Hashable, Sendable, CaseIterable {
        case from, to, container, environment, database, user, device, zone
        case recordType = "type"
        case operation
        case operationID = "operation-id"
        case group = "group-id"
        case groupName = "group"
        case status, code, failed
        case slowerThan = "slower-than"
        case id
        case item = "record"
        case named
        case text
    }

    /// The texts by condition; empty ones count as missing.
    package var values: [Field: String] = [:]
    /// The words of kinds; empty for all.
    package var kinds: [String] = []

    /// Creates a form without conditions.
    package init() {}

    /// The error of a text that is no condition.
    package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
        /// The condition; nil for the kinds.
        package var field: Field?
        /// The sentence for the reader.
        package var description: String

        /// Creates an error.
        package init(field: Field?, description: String) {
            self.field = field
            self.description = description
        }
    }

    /// Returns the filter.
    ///
    /// - Parameter now: Milliseconds since 1970, from which times "ago" are counted.
    /// - Throws: `Problem`.
    package func filter(now: Int64) throws(Problem) -> LogFilter {
        func text(_ field: Field) -> String? {
            values[field].flatMap { $0.isEmpty ? nil : $0 }
        }
        var filter = LogFilter()
        filter.from = try time(.from, now)
        filter.to = try time(.to, now)
        for word in kinds where !word.isEmpty {
            guard let kind = LogEntry.Kind(word: word) else {
                let words = LogEntry.Kind.allCases.map(\.word).joined(separator: ", ")
                throw Problem(field: nil, description: "a kind is one of: \(words)")
            }
            filter.kinds.insert(kind)
        }
        filter.container = text(.container)
        filter.environment = text(.environment)
        filter.database = text(.database)
        filter.user = text(.user)
        filter.device = text(.device)
        filter.zone = text(.zone)
        filter.recordType = text(.recordType)
        filter.operation = text(.operation)
        filter.operationID = try identifier(.operationID)
        filter.group = try identifier(.group)
        filter.groupName = text(.groupName)
        filter.status = try status()
        filter.code = text(.code)
        filter.onlyFailures = text(.failed) != nil
        if let milliseconds = text(.slowerThan) {
            guard let number = Int(milliseconds), (0...4_000_000).contains(number) else {
                throw Problem(field: .slowerThan, description: "a duration is a number of milliseconds")
            }
            filter.microsecondsMin = number * 1000
        }
        if let prefix = text(.id) {
            guard LogID.range(ofPrefix: prefix) != nil else {
                throw Problem(field: .id, description: "an identifier has hexadecimal digits and hyphens")
            }
            filter.idPrefix = prefix
        }
        filter.item = text(.item)
        if let digits = text(.named) {
            guard digits.utf8.count == 16, let record = UInt64(digits, radix: 16) else {
                throw Problem(field: .named, description: "the pseudonym of a record has 16 hexadecimal digits")
            }
            filter.record = record
        }
        filter.text = text(.text)
        return filter
    }

    private func identifier(_ field: Field) throws(Problem) -> LogID? {
        guard let text = values[field], !text.isEmpty else { return nil }
        guard let id = LogID(text) else { throw Problem(field: field, description: "an identifier is a UUID") }
        return id
    }

    private func status() throws(Problem) -> ClosedRange<Int>? {
        guard let text = values[.status], !text.isEmpty else { return nil }
        if let number = Int(text), (0...999).contains(number) { return number...number }
        if text.count == 3, text.lowercased().hasSuffix("xx"), let first = Int(text.prefix(1)), first > 0 {
            return (first * 100)...(first * 100 + 99)
        }
        throw Problem(field: .status, description: "a status is a number such as 404, or a class such as 4xx")
    }

    private func time(_ field: Field, _ now: Int64) throws(Problem) -> Int64? {
        guard let text = values[field], !text.isEmpty else { return nil }
        let units: [Character: Int64] = ["s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]
        if let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
            (0...100_000).contains(count)
        {
            return now - count * unit
        }
        // Fields of forms for times have neither seconds nor a zone.
        var full = text.replacing(" ", with: "T")
        if full.count == 10 { full += "T00:00" }
        if full.count == 16 { full += ":00" }
        if full.count == 19 { full += "Z" }
        guard let date = try? Date(full, strategy: .iso8601) else {
            throw Problem(
                field: field,
                description: "a time has the form 2026-11-21T03:40:00Z, or 90s, 15m, 24h, 7d for so long ago")
        }
        return Int64(date.timeIntervalSince1970 * 1000)
    }
}
