/// The text of a `mimeapps.list`, which associates types and schemes with programs (MIME Applications Associations
/// 1.0.1).
///
/// Every line except the requested one stays as it is, byte for byte.
package struct MimeAssociations: Hashable, Sendable {
    /// The contents of the file.
    package private(set) var text: String

    /// Creates the associations of a file's contents.
    package init(_ text: String) { self.text = text }

    private static let group = "[Default Applications]"

    /// The programs for a type, the preferred one first.
    package func applications(for type: String) -> [String] {
        lines[entries(for: type)].first.map { Self.applications(in: $0) } ?? []
    }

    /// Makes an application the preferred one for a type; others stay behind it.
    package mutating func prefer(_ application: String, for type: String) {
        var lines = lines
        let others = applications(for: type).filter { $0 != application }
        let line = type + "=" + ([application] + others).map { $0 + ";" }.joined()
        let range = entries(for: type)
        if range.isEmpty, range.lowerBound == lines.endIndex, !lines.contains(Self.group) {
            while lines.last == "" { lines.removeLast() }
            lines += (lines.isEmpty ? [] : [""]) + [Self.group, line]
        } else {
            lines.replaceSubrange(range, with: [line])
        }
        text = Self.joined(lines)
    }

    /// Takes an application away from a type; a group that is empty then goes as well.
    package mutating func remove(_ application: String, for type: String) {
        var lines = lines
        let range = entries(for: type)
        guard !range.isEmpty else { return }
        let others = applications(for: type).filter { $0 != application }
        guard others.count < applications(for: type).count else { return }
        lines.replaceSubrange(range, with: others.isEmpty ? [] : [type + "=" + others.map { $0 + ";" }.joined()])
        if let start = lines.firstIndex(of: Self.group),
            lines[(start + 1)...].prefix(while: { !$0.hasPrefix("[") }).allSatisfy(\.isEmpty)
        {
            let end = lines[(start + 1)...].firstIndex { $0.hasPrefix("[") } ?? lines.endIndex
            lines.removeSubrange(start..<end)
            while lines.last == "" { lines.removeLast() }
        }
        text = Self.joined(lines)
    }

    private var lines: [String] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last == "" { lines.removeLast() }
        return lines
    }

    private static func joined(_ lines: [String]) -> String {
        lines.isEmpty ? "" : lines.joined(separator: "\n") + "\n"
    }

    /// The type's line in the group of defaults; empty, and where it would go, when there is none.
    private func entries(for type: String) -> Range<Int> {
        let lines = lines
        guard let start = lines.firstIndex(of: Self.group) else { return lines.endIndex..<lines.endIndex }
        let end = lines[(start + 1)...].firstIndex { $0.hasPrefix("[") } ?? lines.endIndex
        if let index = lines[(start + 1)..<end].firstIndex(where: { Self.key(of: $0) == type }) {
            return index..<(index + 1)
        }
        return (start + 1)..<(start + 1)
    }

    private static func key(of line: String) -> String? {
        line.firstIndex(of: "=").map { String(line[..<$0].filter { $0 != " " }) }
    }

    private static func applications(in line: String) -> [String] {
        let values = line.firstIndex(of: "=").map { line[line.index(after: $0)...] } ?? ""
        return values.split(separator: ";").map { $0.filter { $0 != " " } }
    }
}
