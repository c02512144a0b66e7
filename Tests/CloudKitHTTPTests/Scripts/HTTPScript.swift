import Foundation

/// HTTP requests written down, with names in the place of what other answers gave: `$NAME`.
struct HTTPScript {
    /// One request, and which values of its answer get names.
    struct Step {
        var method: String
        /// A path with its query, or an address of the cloud.
        var target: String
        var headers: [String: String] = [:]
        var body = ""
        var keeps: [Keep] = []

        /// - Parameter text: A request line, headers, an empty line, the body.
        init?(_ text: String) {
            let parts = text.split(separator: "\n\n", maxSplits: 1, omittingEmptySubsequences: false)
            let head = parts[0].split(separator: "\n").map(String.init)
            let words = head.first?.split(separator: " ").map(String.init) ?? []
            guard words.count == 2 else { return nil }
            (method, target) = (words[0], words[1])
            for line in head.dropFirst() {
                let pair = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
                guard pair.count == 2 else { return nil }
                headers[pair[0]] = pair[1]
            }
            if parts.count == 2 { body = parts[1].trimmingCharacters(in: .newlines) }
        }
    }

    /// `keep NAME = path`: the path of keys and positions in an answer's JSON, or `header NAME`.
    struct Keep {
        var name: String
        var path: String

        init?(_ line: some StringProtocol) {
            let parts = line.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2 else { return nil }
            (name, path) = (parts[0], parts[1])
        }

        /// The value as it occurs in the answer; an object or array as JSON with sorted keys.
        func value(in answer: RawClient.Answer) -> String? {
            if path.hasPrefix("header ") { return answer.headers[String(path.dropFirst("header ".count))] }
            var value: Any? = try? JSONSerialization.jsonObject(with: Data(answer.body.utf8))
            for key in path.split(separator: ".").map(String.init) {
                if let index = Int(key), let list = value as? [Any] {
                    value = index < list.count ? list[index] : nil
                } else {
                    value = (value as? [String: Any])?[key]
                }
            }
            if let text = value as? String { return text }
            guard let value, JSONSerialization.isValidJSONObject(value),
                let data = try? JSONSerialization.data(
                    withJSONObject: value, options: [.sortedKeys, .withoutEscapingSlashes])
            else { return nil }
            return String(decoding: data, as: UTF8.self)
        }
    }

    /// The requests of a file of them: separated by lines of `---`; lines `# …` before a request are remarks, and lines
    /// `keep …` after it name values of its answer.
    static func steps(of text: String) throws -> [Step] {
        try text.components(separatedBy: "\n---\n").map { part in
            var lines = part.components(separatedBy: "\n").drop { $0.hasPrefix("#") || $0.isEmpty }
            while lines.last?.isEmpty == true { lines.removeLast() }
            var keeps: [Keep] = []
            while let last = lines.last, last.hasPrefix("keep "), let keep = Keep(last.dropFirst("keep ".count)) {
                keeps.insert(keep, at: 0)
                lines.removeLast()
            }
            guard var step = Step(lines.joined(separator: "\n")) else { throw ScriptError.noRequest(part) }
            step.keeps = keeps
            return step
        }
    }
}

enum ScriptError: Error {
    case noRequest(String)
    case noValue(String)
    case notAsBefore(String)
}
