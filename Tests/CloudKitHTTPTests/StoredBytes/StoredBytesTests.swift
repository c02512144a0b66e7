import Foundation
import Testing

/// Every byte that a cloud stores and answers for a fixed series of requests, compared with files in `Golden`.
///
/// `scenario.http` holds the requests, `answers.txt` their answers, and `store.txt` every key and value that is stored at the
/// end. A byte that changes here is one that clouds in use would not understand, or that clients would see: such a
/// change is made on purpose or not at all. `WELKIN_RECORD=1` writes the two files again.
@Suite(.timeLimit(.minutes(20))) struct StoredBytesTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")

    /// True if files are written instead of compared.
    static var isRecording: Bool { ProcessInfo.processInfo.environment["WELKIN_RECORD"] != nil }

    @Test func `stored bytes and answers are those of the golden files`() async throws {
        let steps = try HTTPScript.steps(
            of: try String(contentsOf: Self.folder.appending(path: "scenario.http"), encoding: .utf8))
        try await ScriptedCloud.run { cloud in
            var answers = ""
            for (index, step) in steps.enumerated() {
                let answer = try await cloud.send(step)
                answers += "\(index + 1) \(step.method) \(step.target)\n" + Self.text(answer) + "\n\n"
            }
            let store = try await cloud.entries().map(Self.line).joined(separator: "\n") + "\n"
            try Self.compare(answers, with: "answers.txt")
            try Self.compare(store, with: "store.txt")
        }
    }

    /// Status, the headers that say something about the answer, and the body.
    private static func text(_ answer: RawClient.Answer) -> String {
        let varying: Set = ["date", "x-apple-request-uuid", "connection", "content-length", "server"]
        let headers = answer.headers.filter { !varying.contains($0.key) }.sorted { $0.key < $1.key }
            .map { "\($0.key): \($0.value)" }
        return (["\(answer.status)"] + headers + (answer.body.isEmpty ? [] : [answer.body])).joined(separator: "\n")
    }

    private static func line(_ entry: ListedStore.StoredEntry) -> String {
        "\(entry.partition) | \(shown(entry.key)) | \(json(entry.value) ?? shown(entry.value))"
    }

    /// Rows of JSON, of which the order of keys differs from run to run.
    private static func json(_ bytes: [UInt8]) -> String? {
        guard bytes.first == UInt8(ascii: "{"), let object = try? JSONSerialization.jsonObject(with: Data(bytes)),
            let data = try? JSONSerialization.data(
                withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    /// ASCII as it is, every other byte and the backslash as `\xx`.
    private static func shown(_ bytes: [UInt8]) -> String {
        var text = ""
        for byte in bytes {
            if (0x20..<0x7F).contains(byte), byte != UInt8(ascii: "\\") {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += byte < 16 ? "\\0\(String(byte, radix: 16))" : "\\\(String(byte, radix: 16))"
            }
        }
        return text
    }

    private static func compare(_ fresh: String, with name: String) throws {
        let file = folder.appending(path: name)
        if isRecording { return try fresh.write(to: file, atomically: true, encoding: .utf8) }
        let held = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
        let lines = fresh.components(separatedBy: "\n")
        for index in 0..<max(held.count, lines.count) {
            let (old, new) = (index < held.count ? held[index] : "", index < lines.count ? lines[index] : "")
            guard old != new else { continue }
            Issue.record("\(name), line \(index + 1), was\n\(old)\nand is\n\(new)")
            return
        }
    }
}
