import CloudKitAccounts
import Foundation

/// A list of people, as CSV with a line of names, or as JSON Lines.
///
/// The columns and keys are `email`, which every line has, `name`, `group` and `quota`: bytes, `none` or `default`.
struct PeopleFile {
    /// A person and the line that names them.
    struct Line {
        var number: Int
        var person: InvitedPerson
    }

    /// The reasons why a list cannot be used, each with its line.
    struct Problems: Error, CustomStringConvertible {
        var problems: [(line: Int, text: String)]

        private static let shownMax = 20

        var description: String {
            let shown = problems.prefix(Self.shownMax).map { "line \($0.line): \($0.text)" }
            let rest = problems.count - shown.count
            return (["nothing was changed:"] + shown + (rest > 0 ? ["and \(rest) more"] : [])).joined(separator: "\n")
        }
    }

    /// In the order of the list.
    var lines: [Line] = []

    /// People of one list.
    static let peopleMax = 10_000
    private static let nameCharactersMax = 200
    private static let keys = ["email", "name", "group", "quota"]

    /// Reads a list.
    ///
    /// - Throws: `Problems` with all lines that cannot be used.
    init(_ text: String) throws(Problems) {
        // A mark of the byte order, as spreadsheets write it.
        let text = text.first == "\u{FEFF}" ? String(text.dropFirst()) : text
        let isJSON = text.first { !$0.isWhitespace } == "{"
        var problems: [(line: Int, text: String)] = []
        let rows = isJSON ? Self.jsonRows(text, &problems) : Self.csvRows(text, &problems)
        var firstLines: [String: Int] = [:]
        for row in rows {
            switch Self.person(row.values) {
            case .failure(let reason): problems.append((row.line, reason.text))
            case .success(let person):
                if let first = firstLines[person.email.normalised] {
                    problems.append((row.line, "\(person.email) is in line \(first) already"))
                }
                firstLines[person.email.normalised] = row.line
                lines.append(Line(number: row.line, person: person))
            }
        }
        if lines.count > Self.peopleMax {
            problems.append((lines[Self.peopleMax].number, "a list has at most \(Self.peopleMax) people; split it"))
        }
        if lines.isEmpty, problems.isEmpty { problems.append((1, "the list names nobody")) }
        guard problems.isEmpty else { throw Problems(problems: problems.sorted { $0.line < $1.line }) }
    }

    private typealias Row = (line: Int, values: [String: String])

    private struct Reason: Error {
        var text: String
    }

    private static func person(_ values: [String: String]) -> Result<InvitedPerson, Reason> {
        let values = values.mapValues { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.value.isEmpty }
        guard let text = values["email"] else { return .failure(Reason(text: "the address is missing")) }
        guard let email = EmailAddress(text) else {
            return .failure(Reason(text: "\"\(text.onOneLine)\" is not an e-mail address"))
        }
        var plan = AccountPlan(name: values["name"])
        if let name = plan.name, name.count > nameCharactersMax || name != name.onOneLine {
            return .failure(Reason(text: "the name is not one line of at most \(nameCharactersMax) characters"))
        }
        if let text = values["group"] {
            guard let group = AccountGroup(text) else {
                return .failure(Reason(text: "the group is not one line of at most 64 characters"))
            }
            plan.group = group
        }
        if let text = values["quota"] {
            guard let quota = AccountQuota(text: text) else {
                return .failure(Reason(text: "\"\(text.onOneLine)\" is no quota; it is bytes, none or default"))
            }
            plan.quota = quota
        }
        return .success(InvitedPerson(email: email, plan: plan))
    }

    // MARK: JSON Lines

    private struct JSONPerson: Decodable {
        var values: [String: String] = [:]

        private struct Key: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }

            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            for key in container.allKeys {
                guard PeopleFile.keys.contains(key.stringValue) else {
                    throw Reason(text: "there is no key \"\(key.stringValue.onOneLine)\"; \(PeopleFile.keysText)")
                }
                // A quota may be a number.
                if let number = try? container.decode(UInt64.self, forKey: key) {
                    values[key.stringValue] = String(number)
                } else if try !container.decodeNil(forKey: key) {
                    values[key.stringValue] = try container.decode(String.self, forKey: key)
                }
            }
        }
    }

    private static var keysText: String { "the keys are \(keys.joined(separator: ", "))" }

    private static func jsonRows(_ text: String, _ problems: inout [(line: Int, text: String)]) -> [Row] {
        var rows: [Row] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated()
        where !line.allSatisfy(\.isWhitespace) {
            do {
                let person = try JSONDecoder().decode(JSONPerson.self, from: Data(line.utf8))
                rows.append((index + 1, person.values))
            } catch let reason as Reason {
                problems.append((index + 1, reason.text))
            } catch {
                problems.append((index + 1, "this is no JSON object of texts; \(keysText)"))
            }
        }
        return rows
    }

    // MARK: CSV

    private static func csvRows(_ text: String, _ problems: inout [(line: Int, text: String)]) -> [Row] {
        var reader = CSVReader(text)
        var names: [String]?
        var rows: [Row] = []
        while let (line, fields) = reader.next() {
            if fields.count == 1, fields[0].allSatisfy(\.isWhitespace) { continue }
            guard let names else {
                let header = fields.map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
                guard header.contains("email"), header.allSatisfy(keys.contains), Set(header).count == header.count
                else {
                    problems.append(
                        (line, "the first line does not name the columns: email, and if wanted name, group, quota"))
                    return []
                }
                names = header
                continue
            }
            guard fields.count == names.count else {
                problems.append((line, "columns: \(fields.count) in place of \(names.count)"))
                continue
            }
            rows.append((line, Dictionary(uniqueKeysWithValues: zip(names, fields))))
        }
        if let line = reader.openQuote { problems.append((line, "a quotation mark does not end")) }
        return rows
    }
}

/// Reads comma-separated values (RFC 4180), with semicolons where the first line has no comma, as spreadsheets of many countries write them.
private struct CSVReader {
    private var rest: Substring
    private let separator: Character
    private var line = 1
    /// The line in which a quotation mark begins that does not end.
    private(set) var openQuote: Int?

    init(_ text: String) {
        rest = Substring(text)
        let first = text.prefix { !$0.isNewline }
        separator = !first.contains(",") && first.contains(";") ? ";" : ","
    }

    /// Returns the fields of the next row, and its line.
    mutating func next() -> (line: Int, fields: [String])? {
        guard !rest.isEmpty else { return nil }
        let start = line
        var fields = [""]
        while let character = rest.popFirst() {
            if character == "\"", fields[fields.count - 1].isEmpty {
                fields[fields.count - 1] = quoted()
            } else if character == separator {
                fields.append("")
            } else if character.isNewline {
                line += 1
                return (start, fields)
            } else {
                fields[fields.count - 1].append(character)
            }
        }
        return (start, fields)
    }

    /// Reads to the end of a quotation; two marks stand for one.
    private mutating func quoted() -> String {
        let start = line
        var text = ""
        while let character = rest.popFirst() {
            if character == "\"" {
                guard rest.first == "\"" else { return text }
                rest.removeFirst()
            }
            if character.isNewline { line += 1 }
            text.append(character)
        }
        openQuote = start
        return text
    }
}
