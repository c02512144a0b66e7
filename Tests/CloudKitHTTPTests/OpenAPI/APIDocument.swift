@testable import CloudKitHTTP

/// The API's document as a client reads it, and what it says of answers.
struct APIDocument: Sendable {
    /// The methods of a path and what they give.
    private struct Path: Sendable {
        /// The pieces between slashes; nil for a parameter.
        var pieces: [String?]
        var operations: [String: JSONTree]
    }

    let tree: JSONTree
    private let paths: [Path]
    private let check: SchemaCheck

    /// The document of a cloud with all endpoints.
    static let complete = APIDocument(OpenAPIDocument.complete)

    init(_ bytes: [UInt8]) {
        tree = JSONTree(String(decoding: bytes, as: UTF8.self)) ?? .object([])
        let all = tree["paths"] ?? .object([])
        paths = all.keys.map { path in
            let item = all[path] ?? .object([])
            let pieces = path.split(separator: "/", omittingEmptySubsequences: false)
                .map { $0.hasPrefix("{") ? nil : String($0) }
            return Path(
                pieces: pieces,
                operations: Dictionary(
                    uniqueKeysWithValues: item.keys.filter { $0 != "parameters" }.map { ($0, item[$0] ?? .object([])) })
            )
        }
        let schemas = tree["components"]?["schemas"] ?? .object([])
        check = SchemaCheck(
            components: Dictionary(uniqueKeysWithValues: schemas.keys.map { ($0, schemas[$0] ?? .object([])) }))
    }

    /// Returns what an answer has that the document does not say; nil for a documented answer.
    func problem(_ answer: RawClient.Answer, to method: String, _ target: String) -> String? {
        guard method != "OPTIONS" else { return nil }
        let path = target.prefix { $0 != "?" }
        let operation = operation(method, String(path))
        let responses = operation?["responses"]
        let contents: JSONTree?
        if let response = responses?["\(answer.status)"] {
            contents = response["content"]
        } else {
            contents = errorContents
        }
        guard method != "HEAD" else { return nil }
        guard let contents else {
            return answer.body.isEmpty ? nil : "\(method) \(path) \(answer.status): a body is not documented"
        }
        // What the server refuses before it is a request has no body.
        if answer.body.isEmpty, responses?["\(answer.status)"] == nil { return nil }
        if answer.body.isEmpty, responses?["\(answer.status)"]?["x-may-be-empty"] != nil { return nil }
        let type = answer.headers["content-type"].map { String($0.prefix { $0 != ";" }) } ?? ""
        if contents["*/*"] != nil { return nil }
        guard let content = contents[type] else {
            return "\(method) \(path) \(answer.status): the content type \(type) is not documented"
        }
        guard type == "application/json", let schema = content["schema"] else { return nil }
        guard let body = JSONTree(answer.body) else { return "\(method) \(path) \(answer.status): is no JSON" }
        return check.problem(body, schema).map { "\(method) \(path) \(answer.status): \($0)" }
    }

    private var errorContents: JSONTree? { tree["components"]?["responses"]?["Error"]?["content"] }

    private func operation(_ method: String, _ path: String) -> JSONTree? {
        let pieces = path.split(separator: "/", omittingEmptySubsequences: false)
        let match = paths.first { candidate in
            candidate.pieces.count == pieces.count
                && zip(candidate.pieces, pieces).allSatisfy { own, piece in own.map { $0 == piece } ?? true }
        }
        return match?.operations[method.lowercased()] ?? (method == "HEAD" ? match?.operations["get"] : nil)
    }

    /// Every path with its methods.
    var operations: [(path: String, methods: Set<String>)] {
        let all = tree["paths"] ?? .object([])
        return all.keys.map { path in
            (path, Set((all[path]?.keys ?? []).filter { $0 != "parameters" }.map { $0.uppercased() }))
        }
    }
}
