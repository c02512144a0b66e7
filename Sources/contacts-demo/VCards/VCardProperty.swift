import CloudKit

/// One unfolded content line of a vCard: `group.NAME;PARAMETER=value:value` (RFC 6350 §3.3).
struct VCardProperty: Hashable {
    /// The line of the file on which it begins, from 1.
    var line: Int
    var group: String?
    /// The name in upper case.
    var name: String
    /// The parameters by upper-case name; the values without quotes, otherwise as written.
    var parameters: [String: [String]]
    /// The value as written, with its escapes.
    var value: String

    /// The preference of RFC 6350 §5.3, 1 (most preferred) to 100; 101 where none is stated.
    var preference: Int {
        if let stated = parameters["PREF"]?.first.flatMap({ Int($0) }) { return stated }
        return parameters["TYPE"]?.contains { $0.lowercased() == "pref" } == true ? 1 : 101
    }

    /// Whether the value is data (a photograph, a sound), which an address book of text skips.
    var isBinary: Bool {
        let encoding = parameters["ENCODING"]?.first?.lowercased()
        return encoding == "b" || encoding == "base64"
            || value.prefix(5).lowercased() == "data:" && value.contains(";base64,")
    }

    /// The value as one unescaped text.
    var text: String { VCardText.unescaped(value) }

    /// The value as a comma-separated list.
    var list: [String] { VCardText.parts(of: value, at: ",").map(VCardText.unescaped) }

    /// The value as semicolon-separated components; a component that is itself a list is joined by spaces.
    var components: [String] {
        VCardText.parts(of: value, at: ";").map { component in
            VCardText.parts(of: component, at: ",").map(VCardText.unescaped).filter { !$0.isEmpty }
                .joined(separator: " ")
        }
    }
}

extension VCardProperty {
    /// Reads a content line.
    ///
    /// - Throws: `VCardProblem` if the colon is missing, or the name or a parameter is invalid.
    init(parsing content: String, line: Int) throws(VCardProblem) {
        var quoted = false
        var head: [Substring] = []
        let scalars = content.unicodeScalars
        var start = scalars.startIndex
        var end: String.Index?
        for index in scalars.indices {
            switch scalars[index] {
            case "\"": quoted.toggle()
            case ";" where !quoted:
                head.append(content[start..<index])
                start = scalars.index(after: index)
            case ":" where !quoted: end = index
            default: break
            }
            if end != nil { break }
        }
        guard let end else { throw VCardProblem(line: line, reason: "the line has no colon between name and value") }
        head.append(content[start..<end])

        let path = head[0].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = path.last, !name.isEmpty, path.allSatisfy(VCardText.isToken) else {
            throw VCardProblem(line: line, reason: "the name before the colon is invalid")
        }
        self.line = line
        self.group = path.count == 2 ? String(path[0]) : nil
        self.name = name.uppercased()
        self.parameters = [:]
        self.value = String(scalars[scalars.index(after: end)...])
        for parameter in head.dropFirst() {
            let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard VCardText.isToken(pair[0]) else {
                throw VCardProblem(line: line, reason: "a parameter of \(self.name) has no name")
            }
            // `TEL;HOME:…`, the short form of vCard 2.1, means `TYPE=HOME`.
            let (key, values) = pair.count == 2 ? (pair[0].uppercased(), pair[1]) : ("TYPE", pair[0])
            parameters[key, default: []] += VCardText.parameterValues(of: values)
        }
    }
}
