/// One HTTP/1.1 message in its bytes on the wire.
package struct RawMessage: Hashable, Sendable {
    /// The first line and the header, with the empty line after it.
    package var head: [UInt8]
    /// The body, with the framing of a chunked one.
    package var body: [UInt8]

    package init(head: [UInt8], body: [UInt8]) {
        self.head = head
        self.body = body
    }

    package var bytes: [UInt8] { head + body }

    /// The first line, such as `GET /health HTTP/1.1`.
    package var firstLine: String { lines.first ?? "" }
    package var method: String { String(firstLine.prefix { $0 != " " }) }

    /// Returns the value of a header.
    ///
    /// - Parameter name: The name in lower case.
    package func header(_ name: String) -> String? {
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name else { continue }
            return line[line.index(after: colon)...].trimmingPrefix(" ").description
        }
        return nil
    }

    var isChunked: Bool { header("transfer-encoding")?.lowercased() == "chunked" }
    var bodyBytes: Int { header("content-length").flatMap { Int($0) } ?? 0 }

    private var lines: [String] { String(decoding: head, as: UTF8.self).components(lineEnd: "\r\n") }
}

extension String {
    fileprivate func components(lineEnd: String) -> [String] {
        split(separator: lineEnd, omittingEmptySubsequences: true).map(String.init)
    }
}
