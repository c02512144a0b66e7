import Foundation

/// What a save sends to the database, read from the database's log, as a script of pgbench with other keys each time.
struct RecordedTransaction {
    /// The script. Its variable `partition` is a number, those of values are texts, see `variables`.
    let script: String
    /// The values that it sends: as many bytes as those that were recorded, in hexadecimal digits.
    let variables: [String: String]
    /// What was recorded, in short.
    let summary: String

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
        guard statements.contains(where: \.addsEntries) else {
            throw BenchError("the save sent no entries to the database")
        }
        var writer = ScriptWriter(partitions: partitions)
        for statement in statements { writer.add(statement) }
        script = writer.script
        variables = writer.variables
        summary = writer.summary
    }

    /// Returns the statements of the transaction that writes the most entries.
    private static func statements(in log: String) throws -> [Statement] {
        /// The statements of each session since its transaction began.
        var open: [Substring: [Statement]] = [:]
        var committed: [[Statement]] = []
        func changeLast(of session: Substring, _ change: (inout Statement) -> Void) {
            guard var statements = open[session], let last = statements.indices.last else { return }
            change(&statements[last])
            open[session] = statements
        }
        var previous: Substring?
        for line in log.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[0].allSatisfy(\.isNumber) else {
                // A statement of several lines.
                let text = line.trimmingCharacters(in: .whitespaces)
                if let previous { changeLast(of: previous) { $0.text += " " + text } }
                continue
            }
            let session = parts[0]
            previous = nil
            if let range = parts[1].range(of: "execute ") {
                guard let colon = parts[1][range.upperBound...].firstIndex(of: ":") else { continue }
                let text = parts[1][parts[1].index(after: colon)...].trimmingCharacters(in: .whitespaces)
                if text.hasPrefix("BEGIN") { open[session] = [] }
                open[session, default: []].append(Statement(text: text))
                if text == "COMMIT", let statements = open.removeValue(forKey: session) { committed.append(statements) }
                previous = session
            } else if let range = parts[1].range(of: "parameters: ") {
                changeLast(of: session) { $0.lengths = lengths(parts[1][range.upperBound...]) }
            }
        }
        func entries(_ statements: [Statement]) -> Int {
            statements.filter(\.addsEntries).reduce(0) { $0 + $1.lengths.count }
        }
        guard let found = committed.max(by: { entries($0) < entries($1) }) else {
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

/// An executed statement.
private struct Statement {
    var text: String
    /// The lengths of its parameters in bytes; nil for numbers.
    var lengths: [Int?] = []

    var addsEntries: Bool { text.hasPrefix("INSERT INTO") && text.contains(".entries") }
}

/// Writes a script of pgbench from statements.
private struct ScriptWriter {
    private(set) var variables: [String: String] = [:]
    private var lines: [String]
    private var (statements, entries, bytes) = (0, 0, 0)
    private var nextKey = 0
    private static let rowsMax = 64

    init(partitions: Int) {
        lines = [
            "\\set partition random(1, \(partitions))", "\\set run random(1, 1000000000000)",
        ]
    }

    var script: String { lines.joined(separator: "\n") + "\n" }
    var summary: String { "\(statements) statements with \(entries) entries, \(bytes) bytes" }

    mutating func add(_ statement: Statement) {
        let (text, lengths) = (statement.text, statement.lengths)
        // pgbench takes 255 variables in one statement, three for a row: longer ones are divided.
        guard statement.addsEntries, lengths.count > 1 + 3 * Self.rowsMax else { return addWhole(statement) }
        let head = text[..<(text.range(of: "VALUES ")?.upperBound ?? text.endIndex)]
        let tail = text.range(of: " ON CONFLICT").map { text[$0.lowerBound...] } ?? ""
        let rows = (lengths.count - 1) / 3
        for start in stride(from: 0, to: rows, by: Self.rowsMax) {
            let part = Array(lengths[(1 + 3 * start)..<(1 + 3 * min(rows, start + Self.rowsMax))])
            let values = (0..<(part.count / 3)).map { "($1, $\(3 * $0 + 2), $\(3 * $0 + 3), $\(3 * $0 + 4))" }
            addWhole(Statement(text: head + values.joined(separator: ", ") + tail, lengths: [lengths[0]] + part))
        }
    }

    private mutating func addWhole(_ statement: Statement) {
        statements += 1
        if statement.addsEntries { entries += (statement.lengths.count - 1) / 3 }
        var text = statement.text
        // From the last, since $1 begins $10 as well.
        for index in statement.lengths.indices.reversed() {
            text = text.replacingOccurrences(of: "$\(index + 1)", with: value(index, of: statement))
        }
        lines.append(text + ";")
    }

    private mutating func value(_ index: Int, of statement: Statement) -> String {
        guard let length = statement.lengths[index] else {
            return statement.text.contains(".requests") ? ":run" : "4242424242"
        }
        bytes += length
        if length == 0 { return "''::bytea" }
        if index == 0 { return "('\\x0000000000000000'::bytea || int8send(:partition))" }
        if statement.addsEntries, (index - 1) % 3 == 1 { return "decode(:\(name(ofValue: length)), 'hex')" }
        // A key: some equal bytes, then others for each run and place.
        nextKey += 1
        let constant = String(repeating: "61", count: max(0, length - 12))
        return "('\\x\(constant)'::bytea || int8send(:run) || '\\x\(Self.hexadecimal(nextKey))'::bytea)"
    }

    /// Returns the variable of a value of so many bytes.
    private mutating func name(ofValue length: Int) -> String {
        let name = "value\(length)"
        if variables[name] == nil {
            variables[name] = (0..<length).map { Self.hexadecimal($0 &* 167 &+ 13).suffix(2) }.joined()
        }
        return name
    }

    private static func hexadecimal(_ number: Int) -> String {
        let digits = String(number & 0xFFFF_FFFF, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}
