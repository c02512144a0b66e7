import HTTPTypes
import NIOCore

/// The head of a response, as it is sent.
struct ResponseHead {
    private let response: HTTPResponse
    /// The time, as responses carry it.
    private let date: String

    init(_ response: HTTPResponse, date: String) {
        self.response = response
        self.date = date
    }

    /// Writes status and header fields (RFC 9112 §2.1). Fields have been checked for line ends when they were made.
    ///
    /// - Parameter byteCount: The length of a body for a response that does not name it.
    func write(to buffer: inout ByteBuffer, byteCount: Int) {
        let status = response.status
        buffer.writeString("HTTP/1.1 ")
        buffer.writeString(String(status.code))
        buffer.writeString(" ")
        buffer.writeString(status.reasonPhrase)
        buffer.writeString("\r\n")
        var hasLength = status == .noContent || status == .notModified || status.kind == .informational
        for field in response.headerFields {
            if field.name == .contentLength { hasLength = true }
            Self.write(field.name.rawName, field.value, to: &buffer)
        }
        if !hasLength { Self.write("Content-Length", String(byteCount), to: &buffer) }
        Self.write("Date", date, to: &buffer)
        buffer.writeString("\r\n")
    }

    private static func write(_ name: String, _ value: String, to buffer: inout ByteBuffer) {
        buffer.writeString(name)
        buffer.writeString(": ")
        buffer.writeString(value)
        buffer.writeString("\r\n")
    }
}
