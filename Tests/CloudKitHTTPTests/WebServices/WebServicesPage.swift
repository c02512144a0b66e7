import Foundation

/// `docs/web-services.md`, of which the answers come from a run.
///
/// A request is a block of code marked `http`. Remarks `<!-- keep NAME = path -->` after it name values of its answer, which later
/// requests use as `$NAME` and in which answers are shown. The next such block, which begins with `HTTP/1.1`, is the answer.
struct WebServicesPage {
    static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/web-services.md")

    private var lines: [String]

    init() throws { lines = try String(contentsOf: Self.file, encoding: .utf8).components(separatedBy: "\n") }

    var text: String { lines.joined(separator: "\n") }

    /// The texts of headings, without their marks.
    var headings: [String] {
        lines.filter { $0.hasPrefix("#") }.map { String($0.drop { $0 == "#" || $0 == " " }) }
    }

    /// Sends every request of the page in its order.
    ///
    /// - Returns: The page with the answers of this run.
    func answered(by cloud: inout ScriptedCloud) async throws -> String {
        var page: [String] = []
        var rest = lines[...]
        while let line = rest.popFirst() {
            guard line == Self.fence else {
                page.append(line)
                continue
            }
            let (step, remarks) = try Self.request(&rest)
            let answer = try await cloud.send(step)
            page += [Self.fence] + Self.shown(step).components(separatedBy: "\n") + [Self.end]
            page += remarks.isEmpty ? [""] : [""] + remarks + [""]
            page += [Self.fence] + Self.shown(answer, to: step, cloud).components(separatedBy: "\n") + [Self.end]
        }
        return page.joined(separator: "\n")
    }

    /// Takes a request, its remarks, and the answer of an earlier run.
    private static func request(_ rest: inout ArraySlice<String>) throws -> (HTTPScript.Step, remarks: [String]) {
        let text = block(&rest).joined(separator: "\n")
        guard var step = HTTPScript.Step(text) else { throw ScriptError.noRequest(text) }
        var remarks: [String] = []
        var ahead = rest.drop { $0.isEmpty }
        while let line = ahead.first, line.hasPrefix("<!-- keep "), line.hasSuffix(" -->") {
            guard let keep = HTTPScript.Keep(line.dropFirst("<!-- keep ".count).dropLast(" -->".count)) else {
                throw ScriptError.noRequest(line)
            }
            step.keeps.append(keep)
            remarks.append(line)
            ahead = ahead.dropFirst().drop { $0.isEmpty }
            rest = ahead
        }
        if ahead.first == fence, ahead.dropFirst().first?.hasPrefix("HTTP/1.1 ") == true {
            rest = ahead.dropFirst()
            _ = block(&rest)
        } else if !remarks.isEmpty {
            rest = [""] + ahead
        }
        return (step, remarks)
    }

    private static func block(_ rest: inout ArraySlice<String>) -> [String] {
        var lines: [String] = []
        while let line = rest.popFirst(), line != end { lines.append(line) }
        return lines
    }

    private static func shown(_ step: HTTPScript.Step) -> String {
        let head = ["\(step.method) \(step.target)"] + step.headers.sorted { $0.key < $1.key }.map { "\($0): \($1)" }
        return head.joined(separator: "\n") + (step.body.isEmpty ? "" : "\n\n" + shown(step.body))
    }

    private static func shown(_ answer: RawClient.Answer, to step: HTTPScript.Step, _ cloud: ScriptedCloud) -> String {
        let kept = step.keeps.filter { $0.path.hasPrefix("header ") }.map { String($0.path.dropFirst("header ".count)) }
        let headers = answer.headers.filter { name, value in
            telling.contains(name) || name.hasPrefix("access-control-") || kept.contains(name)
                || name == "content-type" && !value.hasPrefix("application/json")
        }
        let head = ["HTTP/1.1 \(answer.status)"] + headers.sorted { $0.key < $1.key }.map { "\($0): \($1)" }
        let text = head.joined(separator: "\n") + (answer.body.isEmpty ? "" : "\n\n" + shown(answer.body))
        return cloud.named(text)
    }

    /// Returns JSON on separate lines, and of other text the beginning.
    private static func shown(_ body: String) -> String {
        if let tree = JSONTree(body) { return tree.text(width: 110) }
        let lines = body.components(separatedBy: "\n")
        return lines.count > linesMax ? (lines.prefix(linesMax) + ["…"]).joined(separator: "\n") : body
    }

    private static let fence = "```http"
    private static let end = "```"
    private static let linesMax = 8
    /// Headers that belong to an answer's meaning.
    private static let telling: Set = [
        "allow", "retry-after", "www-authenticate", "etag", "content-range", "accept-ranges", "content-disposition",
        "upload-offset", "upload-complete", "content-security-policy",
    ]
}

extension ScriptedCloud {
    /// Replaces long values by their names.
    fileprivate func named(_ text: String) -> String {
        var text = text
        for (name, value) in values.sorted(by: { ($0.value.count, $1.key) > ($1.value.count, $0.key) })
        where value.count >= 12 && !["DATABASE", "DEVICE", "ADMIN"].contains(name) {
            text = text.replacing(value, with: "$" + name)
        }
        return text
    }
}
