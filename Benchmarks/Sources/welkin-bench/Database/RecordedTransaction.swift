import Foundation

/// What a save sends to the database, read from the database's log, as a script of pgbench with other keys each time.
struct RecordedTransaction {
    /// The script. Its variable `partition` is a number, those of values are texts, see `variables`.
    let script: String
    /// The values that it sends: as many bytes as those that were recorded, in hexadecimal digits.
    let variables: [String: String]
    /// What was recorded, in short.
    let summary: String

    /// An executed statement with the lengths of its parameters in bytes; nil for numbers.
    private struct Statement {
        var text: String
        var lengths: [Int?]
    }

    /// The variables that pgbench takes for one statement, and one for the partition.
    private static let variablesMax = 250

    /// Records the transaction of a save.
    ///
    /// - Parameters:
    ///   - partitions: The number of partitions among which the script chooses.
    ///   - save: Saves once.
    init(on server: DatabaseServer, partitions: Int, _ save: () throws -> Void) throws {
        func set(_ settings: [(String, String)]) throws {
            for (name, value) in settings { try server.sql("ALTER SYSTEM SET \(name) = \(value)") }
            try server.sql("SELECT pg_reload_conf()")
            usleep(300_000)
        }
        try set([("log_statement", "'all'"), ("log_line_prefix", "'%p '"), ("log_parameter_max_length", "-1")])
        let before = server.logText.count
        try save()
        usleep(300_000)
        try set([("log_statement", "'none'")])
        let statements = try Self.statements(in: String(server.logText.dropFirst(before)))
        guard statements.contains(where: { $0.text.hasPrefix("INSERT INTO") && $0.text.contains(".entries") }) else {
            throw BenchError("the save sent no entries to the database")
        }
        var writer = ScriptWriter(partitions: partitions)
        for statement in statements { writer.add(statement.text, lengths: statement.lengths) }
        script = writer.script
        variables = writer.variables
        summary = writer.summary
    }

    /// Returns the statements of the transaction that writes the most entries.
    private static func statements(in log: String) throws -> [Statement] {
        var sessions: [Substring: [[Statement]]] = [:]
        var last: Substring?
        for line in log.split(separator: "\n", omittingEmptySubsequences: true) {
            let parts = line.split(separator: " ", maxSplits: 1)
            if parts.count == 2, parts[0].allSatisfy(\.isNumber) {
                let session = parts[0]
                last = nil
                if let range = parts[1].range(of: "execute ") {
                    guard let colon = parts[1][range.upperBound...].firstIndex(of: ":") else { continue }
                    let text = parts[1][parts[1].index(after: colon)...].trimmingCharacters(in: .whitespaces)
                    if text.hasPrefix("BEGIN") { sessions[session, default: []].append([]) }
                    if sessions[session] == nil { sessions[session] = [[]] }
                    sessions[session]![sessions[session]!.count - 1].append(Statement(text: text, lengths: []))
                    last = session
                } else if let range = parts[1].range(of: "parameters: "), let list = sessions[session]?.last,
                    !list.isEmpty
                {
                    let lengths = Self.lengths(parts[1][range.upperBound...])
                    sessions[session]![sessions[session]!.count - 1][list.count - 1].lengths = lengths
                }
            } else if let session = last, let list = sessions[session]?.last, !list.isEmpty {
                // A statement of several lines.
                sessions[session]![sessions[session]!.count - 1][list.count - 1].text +=
                    " " + line.trimmingCharacters(in: .whitespaces)
            }
        }
        func entries(_ statements: [Statement]) -> Int {
            statements.filter { $0.text.contains("INSERT") }.reduce(0) { $0 + $1.lengths.count }
        }
        let transactions = sessions.values.flatMap { $0 }.filter { $0.last?.text == "COMMIT" }
        guard let found = transactions.max(by: { entries($0) < entries($1) }) else {
            throw BenchError("the log of the database has no transaction")
        }
        return found
    }

    /// Returns the lengths of the parameters of a line such as `$1 = '\x00ff', $2 = '17'`.
    private static func lengths(_ list: Substring) -> [Int?] {
        list.components(separatedBy: "', $").map { part in
            guard let quote = part.firstIndex(of: "'") else { return nil }
            let value = part[part.index(after: quote)...].replacingOccurrences(of: "'", with: "")
            return value.hasPrefix("\\x") ? (value.count - 2) / 2 : nil
        }
    }
}

/// Writes a script of pgbench from statements.
private struct ScriptWriter {
    private(set) var variables: [String: String] = [:]
    private var lines: [String]
    private var names: [String: String] = [:]
    private var (statements, entries, bytes) = (0, 0, 0)
    private var nextKey = 0

    init(partitions: Int) {
        lines = [
            "\\set partition random(1, \(partitions))", "\\set run random(1, 1000000000000)",
        ]
    }

    var script: String { lines.joined(separator: "\n") + "\n" }
    var summary: String { "\(statements) statements with \(entries) entries, \(bytes) bytes" }

    mutating func add(_ text: String, lengths: [Int?]) {
        statements += 1
        let isReading = text.hasPrefix("SELECT")
        let isAdding = text.hasPrefix("INSERT INTO") && text.contains(".entries")
        // pgbench takes so many variables in one statement: longer ones are divided.
        if isAdding, lengths.count > 1 + 3 * 64 {
            let head = text[..<(text.range(of: "VALUES ")?.upperBound ?? text.endIndex)]
            let tail = text.range(of: " ON CONFLICT").map { text[$0.lowerBound...] } ?? ""
            let rows = (lengths.count - 1) / 3
            for start in stride(from: 0, to: rows, by: 64) {
                let part = Array(lengths[(1 + 3 * start)..<(1 + 3 * min(rows, start + 64))])
                let values = (0..<(part.count / 3)).map { "($1, $\(3 * $0 + 2), $\(3 * $0 + 3), $\(3 * $0 + 4))" }
                if start > 0 { statements += 1 }
                addWhole(
                    head + values.joined(separator: ", ") + tail, [lengths[0]] + part, isAdding: true, isReading: false)
            }
        } else {
            addWhole(text, lengths, isAdding: isAdding, isReading: isReading)
        }
    }

    private mutating func addWhole(_ text: String, _ lengths: [Int?], isAdding: Bool, isReading: Bool) {
        var text = text
        if isAdding { entries += (lengths.count - 1) / 3 }
        // From the last, since $1 begins $10 as well.
        for index in lengths.indices.reversed() {
            text = text.replacingOccurrences(
                of: "$\(index + 1)", with: value(index, lengths[index], in: text, isAdding: isAdding))
        }
        lines.append(text + ";")
    }

    private mutating func value(_ index: Int, _ length: Int?, in text: String, isAdding: Bool) -> String {
        guard let length else { return text.contains(".requests") ? ":run" : "4242424242" }
        bytes += length
        if length == 0 { return "''::bytea" }
        if index == 0 { return "('\\x0000000000000000'::bytea || int8send(:partition))" }
        if isAdding, (index - 1) % 3 == 1 { return "decode(:\(name(ofValue: length)), 'hex')" }
        // A key: some equal bytes, then others for each run and place.
        nextKey += 1
        let constant = String(repeating: "61", count: max(0, length - 12))
        return "('\\x\(constant)'::bytea || int8send(:run) || '\\x\(Self.hexadecimal(nextKey))'::bytea)"
    }

    /// Returns the variable of a value of so many bytes.
    private mutating func name(ofValue length: Int) -> String {
        if let name = names[String(length)] { return name }
        let name = "value\(length)"
        names[String(length)] = name
        variables[name] = (0..<length).map { Self.hexadecimal($0 &* 167 &+ 13).suffix(2) }.joined()
        return name
    }

    private static func hexadecimal(_ number: Int) -> String {
        let digits = String(number & 0xFFFF_FFFF, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}
